"""Raw bit errors of reads: how they grow, what is corrected, and from when on data is refreshed.

The form is that of Kim, Choi and Min, "Design Tradeoffs for SSD Reliability" (FAST 2019), written from the
sources of SimpleSSD and MQSim-JW, which have it: terms of wear, of retention and of reads, each a product of
powers, are added. No constant stands here: a device gives them.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from ssdgym.config.loading import Config
from ssdgym.enums import ReadsOf, TimeUnit

#: Most limits, one for each number of retries from 0 on.
MOST_LIMITS = 16
Rate = Annotated[float, Field(gt=0, lt=1)]
_Power = Annotated[float, Field(gt=0, le=10)]
_CyclePower = Annotated[float, Field(ge=0, le=10)]
_Factor = Annotated[float, Field(ge=0)]
_Number = TypeVar("_Number", float, npt.NDArray[np.float64])


class WearConfig(Config):
    """What wear adds to the rate: factor * cycles**power."""

    factor: _Factor = Field(description="of the term")
    cycles: _Power = Field(description="power of the program and erase cycles")


class RetentionConfig(Config):
    """What retention adds to the rate: factor * cycles**power * time**power."""

    factor: _Factor = Field(description="of the term")
    cycles: _CyclePower = Field(description="power of the program and erase cycles")
    time: _Power = Field(description="power of the time since the first program, in time_unit")


class DisturbConfig(Config):
    """What reads add to the rate: factor * cycles**power * reads**power."""

    factor: _Factor = Field(description="of the term")
    cycles: _CyclePower = Field(description="power of the program and erase cycles")
    reads: _Power = Field(description="power of the reads since the erase, as reads_of counts them")


class BitErrorsConfig(Config):
    """The raw bit error rate of a sub-block's pages, read retries, and refresh."""

    base: float = Field(ge=0, lt=1, description="rate of pages without wear, retention and reads")
    wear: WearConfig
    retention: RetentionConfig
    disturb: DisturbConfig
    time_unit: TimeUnit = Field(description=f"of retention; {TimeUnit.described()}")
    reads_of: ReadsOf = Field(description=f"what reads are counted of; {ReadsOf.described()}")
    cycles_before: int = Field(
        0, ge=0, le=10**9, description="program and erase cycles that all blocks have behind them"
    )
    limits: tuple[Rate, ...] = Field(
        min_length=1,
        max_length=MOST_LIMITS,
        description="highest rates that are corrected after 0, 1, 2, ... retries; above the last one a read "
        "is uncorrectable",
    )
    refresh_above: Rate | None = Field(
        None, description="rate above which data is moved to other blocks; none: it never is"
    )

    @model_validator(mode="after")
    def _limits_rise(self) -> BitErrorsConfig:
        if any(low >= high for low, high in zip(self.limits, self.limits[1:], strict=False)):
            raise ValueError(f"limits = {list(self.limits)} must rise from each to the next")
        return self

    @property
    def retries(self) -> int:
        """Most retries of a read."""
        return len(self.limits) - 1

    def rate(self, cycles: _Number, time: _Number, reads: _Number) -> _Number:
        """Return the raw bit error rate.

        Args:
            cycles: program and erase cycles, `cycles_before` included.
            time: since the first program, in `time_unit`.
            reads: since the erase, as `reads_of` counts them.
        """
        wear = self.wear.factor * cycles**self.wear.cycles
        retention = self.retention.factor * cycles**self.retention.cycles * time**self.retention.time
        disturb = self.disturb.factor * cycles**self.disturb.cycles * reads**self.disturb.reads
        return self.base + wear + retention + disturb
