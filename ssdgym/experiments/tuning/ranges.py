"""The values that a sweep gives to one field: listed, or drawn from a range."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from ssdgym.config.loading import Config

#: Drawn numbers are rounded to so many digits, so that what a table shows is what was run.
_DIGITS = 4

Parameters = dict[str, Any]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]


class RangeConfig(Config):
    """The values of one field, given in exactly one of these forms."""

    grid: Values | None = Field(None, description="every one of these, with every one of the other grids")
    choice: Values | None = Field(None, description="one of these, drawn")
    uniform: tuple[float, float] | None = Field(None, description="[low, high]")
    loguniform: tuple[float, float] | None = Field(None, description="[low, high], the logarithm uniform")
    quniform: tuple[float, float, float] | None = Field(
        None, description="[low, high, step], rounded to steps from low; whole where all three are"
    )
    qloguniform: tuple[float, float, float] | None = Field(
        None, description="the same, with the logarithm uniform before it is rounded"
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> RangeConfig:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError(f"must have exactly one of {', '.join(type(self).model_fields)}")
        values = self.grid or self.choice
        if values is not None:
            if len({repr(value) for value in values}) < len(values):
                raise ValueError("names a value twice; give each once")
            return self
        low, high, *step = self.limits
        if not low < high:
            raise ValueError(f"must begin with its lower limit, not [{low:g}, {high:g}]")
        if self.logarithmic and low <= 0:
            raise ValueError(f"must have limits above 0 for a logarithm, not {low:g}")
        if step and not 0 < step[0] <= high - low:
            raise ValueError(f"must have a step above 0 that fits between its limits, not {step[0]:g}")
        return self

    @property
    def limits(self) -> tuple[float, ...]:
        """The lower limit, the upper limit and, where there is one, the step of a range of numbers."""
        limits = self.uniform or self.loguniform or self.quniform or self.qloguniform
        assert limits is not None  # the validator has seen to it
        return limits

    @property
    def logarithmic(self) -> bool:
        """Whether the logarithm is uniform."""
        return (self.loguniform or self.qloguniform) is not None

    @property
    def ends(self) -> tuple[Any, ...]:
        """What is listed, or the smallest and the largest number."""
        return self.grid or self.choice or tuple(self.nearest(limit) for limit in self.limits[:2])

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw one value, always by the same number of draws from `rng`."""
        if self.choice is not None:
            return self.choice[int(rng.integers(len(self.choice)))]
        low, high, *_ = self.limits
        share = float(rng.random())
        if self.logarithmic:
            return self.nearest(math.exp(math.log(low) + share * (math.log(high) - math.log(low))))
        return self.nearest(low + share * (high - low))

    def nearest(self, value: float) -> float | int:
        """Return the number of the range that is nearest to another one, with four digits or on a step."""
        low, high, *step = self.limits
        value = min(max(value, low), high)
        if not step:
            return min(max(float(f"{value:.{_DIGITS}g}"), low), high)
        steps = min(round((value - low) / step[0]), math.floor((high - low) / step[0] + 1e-9))
        if all(number.is_integer() for number in self.limits):
            return int(low + steps * step[0])
        return float(f"{low + steps * step[0]:.12g}")
