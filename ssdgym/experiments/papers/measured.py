"""Whether runs have measured what claims are about, by the share of one counter in another."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pydantic import Field

from ssdgym.config.loading import Config
from ssdgym.experiments.papers.claims.base import Claim
from ssdgym.experiments.papers.samples import Place, Sample, workloads_of


class MeasuredBy(Config):
    """A part of what happened that says nothing about a claim, and the most of it that leaves a verdict.

    An example are relocated pages that were written before the measured phase: where nearly all are, a claim
    is about the state that the device was brought to, and not about what was measured.
    """

    part: str = Field(description="Metric of what says nothing, such as relocated_warm_pages.")
    whole: str = Field(description="Metric of all of it, such as relocated_pages.")
    most: float = Field(
        gt=0,
        lt=1,
        description="The largest share of the part, of any run that a claim compares on a workload.",
    )

    def share(self, samples: Sequence[Sample]) -> float | None:
        """Return the share of the part in the whole over some runs; `None` where there is nothing of it.

        Args:
            samples: the runs.

        Raises:
            SsdgymError: one of them lacks a metric.
        """
        parts, wholes = (
            sum(sample.result.metric(name) for sample in samples) for name in (self.part, self.whole)
        )
        return parts / wholes if wholes else None

    def unmeasured(
        self, claim: Claim, samples: Sequence[Sample], workloads: Collection[str]
    ) -> dict[str, str]:
        """Return the workloads that do not measure a claim, each with the reason.

        On such a one, a series that the claim compares has too large a share of the part in one of its
        variants, or none of them has anything of the whole.

        Args:
            claim: of the figure.
            samples: all of the figure.
            workloads: those that the claim is checked on.
        """
        found = {}
        for workload in workloads:
            runs: dict[Place, list[Sample]] = {}
            for sample in samples:
                if sample.place.workload == workload and _compares(claim, sample):
                    runs.setdefault(sample.place, []).append(sample)
            shares = [share for own in runs.values() if (share := self.share(own)) is not None]
            if not shares:
                found[workload] = f"no {self.whole}"
            elif max(shares) > self.most:
                found[workload] = f"{max(shares):.1%} of {self.whole} are {self.part}"
        return found

    def lines(self, samples: Sequence[Sample]) -> list[str]:
        """Return the share in the runs of each series, for each workload.

        Args:
            samples: all of a figure.
        """
        found = []
        for workload in workloads_of(samples):
            of_series: dict[str, list[Sample]] = {}
            for sample in samples:
                if sample.place.workload == workload:
                    of_series.setdefault(sample.place.series, []).append(sample)
            shares = {name: self.share(own) for name, own in of_series.items()}
            texts = (f"{name} {'-' if one is None else f'{one:.1%}'}" for name, one in shares.items())
            found.append(f"{self.part} of {self.whole} on {workload}: {', '.join(texts)}")
        return found


def _compares(claim: Claim, sample: Sample) -> bool:
    """Return whether a claim is about a run of a workload, or about one that it is compared with."""
    series, _, variant = sample.place
    variants = claim.variants and {*claim.variants, getattr(claim, "at", "")}
    return series in (claim.series, *claim.others) and (not variants or variant in variants)
