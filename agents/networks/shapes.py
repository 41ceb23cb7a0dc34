"""The shapes and the starting points of networks, as configurations and cards of agents have them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveFloat, model_validator

from ssdgym.config.loading import Config

#: The feature that says which of two heads a decision is of.
SWITCH = "page_relocated"
Start = Literal["cost_benefit", "greedy", "none"]


class ScorerConfig(Config):
    """Shape and starting point of a `CandidateScorer`."""

    hidden: tuple[int, ...] = Field((32, 32), min_length=1, description="units of each hidden layer")
    pooling: Literal["mean_max", "none"] = Field(
        "mean_max", description="what a candidate's score knows of the other candidates"
    )
    start: Start = Field("cost_benefit", description="heuristic whose ranking the untrained scorer has")
    sharpness: float = Field(
        5.0,
        gt=0,
        description="initial factor of the heuristic's score, an inverse temperature; with logarithms to the "
        "base 4, 5 samples a candidate in proportion to the power 3.6 of its score",
    )


class ScaleConfig(Config):
    """Shape of a `ScaleNetwork`."""

    hidden: tuple[int, ...] = Field((), description="units of each hidden layer; none: a linear rule")
    actions: int = Field(6, ge=2, le=16, description="answers of the decision, such as write streams")
    ranges: tuple[tuple[int, int], ...] = Field(
        ((0, 6), (0, 6)),
        min_length=1,
        max_length=2,
        description="first action and number of actions of each head: one for all decisions, or one for "
        "pages of the host and one for relocated pages",
    )

    gap: PositiveFloat = Field(1.0, description="distance of cuts at the start; small: the first or the last")

    @model_validator(mode="after")
    def _ranges_are_of_actions(self) -> ScaleConfig:
        for first, count in self.ranges:
            if first < 0 or count < 1 or first + count > self.actions:
                raise ValueError(f"ranges has ({first}, {count}), which is not within {self.actions} actions")
        return self

    @property
    def heads(self) -> int:
        """How many numbers the network has: one, or one for pages of the host and one for relocated ones."""
        return len(self.ranges)


class InputConfig(Config):
    """What a feature is to a network: of a scale network it is centred and divided first."""

    centre: float = 0.0
    spread: PositiveFloat = 1.0
    start: tuple[float, ...] = Field((), description="its weight in each head at the start; (): 0")
