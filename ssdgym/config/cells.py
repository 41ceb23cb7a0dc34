"""Cells that wear out: how many erases they endure, what fails before that, and what is left of a device."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config
from ssdgym.enums import Capacity, Distribution

Probability = Annotated[float, Field(ge=0, lt=1)]
#: Halvings of the interval in which the shape of a Weibull distribution is searched.
_HALVINGS = 100
#: Share of the logical pages whose loss ends the life of a device that shrinks.
_LEAST_CAPACITY = 0.5


class EnduranceConfig(Config):
    """The erases that sub-blocks endure; each one has a limit of its own, drawn by the device's seed."""

    mean: PositiveInt = Field(le=10**9, description="erases that a sub-block endures on average")
    spread: float = Field(
        0.0, ge=0, le=1, description="standard deviation of the limits by their mean; 0: all are equal"
    )
    distribution: Distribution = Field(
        Distribution.NORMAL, description=f"of the limits; {Distribution.described()}"
    )

    @property
    def shape(self) -> float:
        """The shape of the Weibull distribution with this spread, which is above 0."""
        low, high = 0.5, 1e4
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _weibull_spread(middle) > self.spread else (low, middle)
        return low

    @property
    def scale(self) -> float:
        """The scale of that Weibull distribution, in erases."""
        return self.mean / math.gamma(1 + 1 / self.shape)


def _weibull_spread(shape: float) -> float:
    log_ratio = math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)
    return math.sqrt(math.expm1(log_ratio))


class FailureConfig(Config):
    """The probability that a command fails; it changes in proportion to the erases."""

    fresh: Probability = Field(0.0, description="of cells that have never been erased")
    worn: Probability = Field(
        0.0, description="of cells that have been erased as often as the mean endurance"
    )


class CellsConfig(Config):
    """How the cells of a device wear out, and what it does when blocks are lost."""

    endurance: EnduranceConfig
    program_failure: FailureConfig = Field(FailureConfig(), description="of programming a page")
    erase_failure: FailureConfig = Field(FailureConfig(), description="of erasing a sub-block")
    reserve_blocks: int = Field(
        1, ge=0, le=1000, description="free blocks that GC keeps in each plane for erases that fail"
    )
    disturbance_wears: bool = Field(
        False,
        description="ftl.mapping block: an erase of a part wears those beside, too",
    )
    capacity: Capacity = Field(
        Capacity.FIXED, description=f"when a device has lost blocks; {Capacity.described()}"
    )
    least_capacity: float = Field(
        _LEAST_CAPACITY,
        gt=0,
        le=1,
        description="with capacity variant: share of the logical pages that is the end of life",
    )

    @model_validator(mode="after")
    def _least_capacity_has_a_use(self) -> CellsConfig:
        if self.capacity == Capacity.FIXED and self.least_capacity != _LEAST_CAPACITY:
            raise ValueError("least_capacity is for capacity variant; set that or leave it out")
        return self

    @property
    def programs_fail(self) -> bool:
        """Whether programming a page can fail."""
        return self.program_failure != FailureConfig()
