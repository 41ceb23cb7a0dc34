"""Models of what a paper says about a figure, so that it can be held against what is measured."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssdgym.config.loading import Config


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Texts = tuple[str, ...]
#: One name, or a list of them.
Names = Annotated[Texts, BeforeValidator(_listed)]
Direction = Literal["falls", "rises"]


class _Claim(Config):
    """What every claim has."""

    said: str = Field(description="What the paper says, in words of our own; or what we add to it.")
    source: str = Field(
        description="Where it says so: section or figure; of what we add: ours; extends section N."
    )
    series: str = Field(description="The bar it is about.")
    workloads: Texts = Field((), description="Where it is said to hold; empty: on all of the figure.")
    variants: Names = Field((), description="Of the figure, those it is about; empty: all.")


class _Comparison(_Claim):
    """A series against others: its metric over theirs, minus one (-0.2 is 20 % less)."""

    against: Annotated[Names, Field(min_length=1)] = Field(
        description="The bars it is compared with; of several, the mean of the changes counts."
    )
    statistic: Literal["each", "mean", "median", "maximum"] = Field(
        "mean",
        description="Of the changes on those workloads: each of them, their mean, their median (of most), or "
        "the largest.",
    )


class ChangeClaim(_Comparison):
    """The change has a value."""

    kind: Literal["change"]
    change: float = Field(description="The change, not 0.")

    @model_validator(mode="after")
    def _not_zero(self) -> ChangeClaim:
        if self.change == 0:
            raise ValueError("claims a change of 0; claim the kind unchanged, with a width")
        return self


class LimitClaim(_Comparison):
    """The change is at least (a fall) or at most (a rise) so much."""

    kind: Literal["limit"]
    limit: float = Field(description="The change at its limit, not 0.")

    @model_validator(mode="after")
    def _not_zero(self) -> LimitClaim:
        if self.limit == 0:
            raise ValueError("claims a limit of 0; claim the kind direction")
        return self


class UnchangedClaim(_Comparison):
    """There is no change."""

    kind: Literal["unchanged"]
    within: float = Field(gt=0, description="The largest change that counts as none.")


class DirectionClaim(_Comparison):
    """The metric is lower or higher, by how much is not said."""

    kind: Literal["direction"]
    direction: Direction = Field(description="falls: lower than that of the others; rises: higher.")


class RangeClaim(_Claim):
    """The changes of all workloads lie in a range."""

    kind: Literal["range"]
    against: Annotated[Names, Field(min_length=1)] = Field(description="The bars it is compared with.")
    low: float = Field(description="The smallest change: -0.2 is 20 % less.")
    high: float = Field(description="The largest.")

    @model_validator(mode="after")
    def _in_order(self) -> RangeClaim:
        if self.low >= self.high:
            raise ValueError(f"has the range {self.low} to {self.high}; give low below high")
        return self


class ValueClaim(_Claim):
    """The mean of the metric over the workloads has a value."""

    kind: Literal["value"]
    value: float
    beyond: float = Field(
        0.0,
        description="What the metric has at the least; only what it has beyond this is compared. A write "
        "amplification of 1.3 is thrice one of 1.1, beyond 1.",
    )

    @model_validator(mode="after")
    def _is_beyond(self) -> ValueClaim:
        if self.value <= self.beyond:
            raise ValueError(f"claims the value {self.value}, which must be above beyond = {self.beyond}")
        return self


class AtMostClaim(_Claim):
    """The metric is at most so much on every workload."""

    kind: Literal["at_most"]
    value: float


class TrendClaim(_Claim):
    """The metric falls or rises along the variants of the figure, in their order."""

    kind: Literal["trend"]
    against: str = Field(
        "", description="A bar; what falls or rises is the metric over its own. Empty: the metric itself."
    )
    direction: Direction


class ExtremeClaim(_Claim):
    """The workloads that it names have the lowest or highest of all, in whatever order among themselves."""

    kind: Literal["extreme"]
    workloads: Annotated[Texts, Field(min_length=1)] = Field(description="Those at that end.")
    against: Names = Field(
        (), description="The bars it is compared with, by their changes; empty: the metric itself."
    )
    which: Literal["lowest", "highest"] = Field(
        description="Of changes, falls count as lower: the largest fall is the lowest."
    )


class ResemblesClaim(_Claim):
    """The change of the metric is, workload by workload, nearer to that of one metric than of another."""

    kind: Literal["resembles"]
    against: Annotated[Names, Field(min_length=1)] = Field(description="The bars it is compared with.")
    metric: str = Field(description="The one.")
    rather_than: str = Field(description="The other.")


ClaimConfig = Annotated[
    ChangeClaim
    | LimitClaim
    | UnchangedClaim
    | DirectionClaim
    | RangeClaim
    | ValueClaim
    | AtMostClaim
    | TrendClaim
    | ExtremeClaim
    | ResemblesClaim,
    Field(discriminator="kind"),
]
