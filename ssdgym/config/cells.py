"""Configure how cells wear out: limits of erases, and the effect of lost blocks."""

from __future__ import annotations

from pydantic import Field, PositiveInt, model_validator

from ssdgym.config.loading import Config
from ssdgym.enums import Capacity


class EnduranceConfig(Config):
    """The number of erases that sub-blocks endure; the seed of the run draws a limit for each sub-block."""

    mean: PositiveInt = Field(le=10**9, description="erases that a sub-block endures on average")
    spread: float = Field(
        0.0, ge=0, le=1, description="standard deviation of the limits divided by their mean; 0: equal limits"
    )


class CellsConfig(Config):
    """How the cells of a device wear out, and what the device does when blocks are lost."""

    endurance: EnduranceConfig
    disturbance_wears: bool = Field(
        False, description="ftl.mapping block: a partial erase also wears the neighbouring sub-blocks"
    )
    capacity: Capacity = Field(
        Capacity.FIXED, description=f"if too few blocks are left for all data; {Capacity.described()}"
    )
    least_capacity: float = Field(
        0.5, gt=0, le=1, description="capacity variant: life ends below this share of the logical pages"
    )

    @model_validator(mode="after")
    def _least_capacity_has_a_use(self) -> CellsConfig:
        default = CellsConfig.model_fields["least_capacity"].default
        if self.capacity == Capacity.FIXED and self.least_capacity != default:
            raise ValueError("least_capacity is for capacity variant; set that or leave it out")
        return self
