"""Claims about the metric itself: its mean has a value, or it is never above one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import Claim, Verdict, Weights, holds, is_of_magnitude, limits
from ssdgym.experiments.papers.comparisons import Compared


class ValueClaim(Claim):
    """The mean of the metric over the workloads has a value; it holds between half and twice that."""

    claimed: ClassVar[str] = "{0.value:g}"
    style: ClassVar[str] = ".3f"
    kind: Literal["value"]
    value: float
    beyond: float = Field(
        0.0,
        description="What the metric has at the least; only what it has beyond this is compared. A write "
        "amplification of 1.3 is thrice one of 1.1, beyond 1.",
    )
    or_less: bool = Field(False, description="Whether less is as good: any smaller value holds, too.")
    weights: Weights = ""

    @model_validator(mode="after")
    def _is_beyond(self) -> ValueClaim:
        if self.value <= self.beyond:
            raise ValueError(f"claims the value {self.value}, which must be above beyond = {self.beyond}")
        return self

    def _share(self, estimate: Estimate) -> float:
        return (estimate.value - self.beyond) / (self.value - self.beyond)

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge the magnitude, or whether the whole interval keeps the value as a bound."""
        if self.or_less and limits(measured[0])[1] <= self.value:
            return "holds"
        return "holds within a factor two" if is_of_magnitude(self._share(measured[0])) else "does not hold"

    def describe(self) -> str:
        """Return the value, and whether less is as good."""
        return super().describe() + (" or less" if self.or_less else "")

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the mean, and its ratio to the claimed value."""
        beyond = f" beyond {self.beyond:g}" if self.beyond else ""
        share = self._share(measured[0])
        return f"{super().describe_measured(measured)}, {share:.1f} times the paper's{beyond}"


class AtMostClaim(Claim):
    """The metric is at most so much on every workload, with its whole interval."""

    claimed: ClassVar[str] = "at most {0.value:g}"
    style: ClassVar[str] = ".3f"
    kind: Literal["at_most"]
    value: float

    def measure(self, compared: Compared) -> tuple[Estimate, ...]:
        """Return the largest value."""
        return (compared.estimate(partial(np.max, axis=-1)),)

    def judge(self, measured: Sequence[Estimate], compared: Compared) -> Verdict:
        """Judge whether the whole interval keeps the bound."""
        return holds(limits(measured[0])[1] <= self.value)
