"""Claims that one metric changes as another does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from ssdgym.experiments.analysis.statistics import Estimate
from ssdgym.experiments.papers.claims.base import Claim, Others, Texts, changes
from ssdgym.experiments.papers.samples import BySeed, Place, Values


class ResemblesClaim(Claim):
    """The change of the metric is, workload by workload, nearer to that of one metric than of another."""

    claimed: ClassVar[str] = "nearer to {0.metric} than to {0.rather_than}"
    kind: Literal["resembles"]
    against: Others
    metric: str = Field(description="The one.")
    rather_than: str = Field(description="The other.")

    @property
    def metrics(self) -> Texts:
        """The one and the other."""
        return self.metric, self.rather_than

    @property
    def _side(self) -> float:
        return -1.0

    def _compare(self, values: Sequence[Values], place: Place, base: Place) -> BySeed | None:
        """Return how far the metric's change is from that of the one, less how far from the other's."""
        own, one, other = (changes(metric, place, base) for metric in values)
        if own is None or one is None or other is None:
            return None
        common = sorted(own.keys() & one.keys() & other.keys())
        return {seed: abs(own[seed] - one[seed]) - abs(own[seed] - other[seed]) for seed in common}

    def describe_measured(self, measured: Sequence[Estimate]) -> str:
        """Return the difference of the distances."""
        return f"{super().describe_measured(measured)} of distance"
