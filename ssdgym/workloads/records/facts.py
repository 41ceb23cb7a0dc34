"""Facts about records for `ssdgym trace info`, beside what is published of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ssdgym.workloads.records.played import PlayedConfig
from ssdgym.workloads.records.summary import RecordSummary


@dataclass(frozen=True)
class Deviation:
    """One published column beside what was generated.

    Attributes:
        column: its name.
        generated, published: values in the same unit, which the name gives.
    """

    column: str
    generated: float
    published: float

    @property
    def percent(self) -> float:
        """How far the generated value is from the published one, in % of the latter."""
        return 100 * (self.generated - self.published) / self.published

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**asdict(self), "deviation_percent": self.percent}


def trace_facts(config: PlayedConfig, summary: RecordSummary) -> dict[str, Any]:
    """Return what is known of a trace or a synthetic trace, for JSON.

    Args:
        config: the workload.
        summary: of its records.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    facts = {**config.origin(), **summary.as_dict()}
    if config.is_drawn:
        facts["published"] = [item.as_dict() for item in deviations(config, summary)]
        facts["assumed"] = assumed_fields(config)
    return facts


def deviations(config: PlayedConfig, summary: RecordSummary) -> list[Deviation]:
    """Return the published columns of a synthetic trace beside what it generated; nothing for a trace.

    Args:
        config: the workload; of a part of it, or after transforms, there is nothing to compare.
        summary: of its records.
    """
    columns = config.published() if config.is_whole else {}
    return [Deviation(column, getattr(summary, column), value) for column, value in columns.items()]


def assumed_fields(config: PlayedConfig) -> dict[str, str]:
    """Return the fields of a synthetic trace that no source gives, each with the reason for its value."""
    return dict(getattr(config, "assumed", {}))
