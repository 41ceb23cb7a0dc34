"""What ``ssdgym trace info`` says of a trace, and how a stand-in compares with what is published."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ssdgym.config.recorded import TraceConfig
from ssdgym.config.workload import RecordedConfig
from ssdgym.workloads.records.summary import RecordSummary
from ssdgym.workloads.traces.loading import load_trace


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
        """The figures for JSON."""
        return {**asdict(self), "deviation_percent": self.percent}


def trace_facts(config: RecordedConfig, summary: RecordSummary) -> dict[str, Any]:
    """Return what is known of a trace or a stand-in, for JSON.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    if isinstance(config, TraceConfig):
        trace = load_trace(config)
        origin = {"format": trace.format, "skipped_lines": trace.skipped_lines}
    else:
        origin = {"format": config.kind, "skipped_lines": 0}
    facts = {**origin, **summary.as_dict()}
    if not isinstance(config, TraceConfig):
        facts["published"] = [item.as_dict() for item in deviations(config, summary)]
        facts["assumed"] = assumed_fields(config)
    return facts


def deviations(config: RecordedConfig, summary: RecordSummary) -> list[Deviation]:
    """Return the published columns of a stand-in beside what it generated; nothing for a trace.

    After transforms there is nothing to compare.
    """
    if isinstance(config, TraceConfig) or config.transforms:
        return []
    from ssdgym.workloads.stand_ins import published

    return [Deviation(column, getattr(summary, column), value) for column, value in published(config).items()]


def assumed_fields(config: RecordedConfig) -> dict[str, str]:
    """Return the fields of a stand-in that no source gives, with the reason for what stands in for them."""
    return {} if isinstance(config, TraceConfig) else dict(config.assumed)
