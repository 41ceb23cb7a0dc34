"""What is published of the trace behind a stand-in."""

from __future__ import annotations

from ssdgym.config.stand_in import StandInConfig

_COLUMNS = {
    "reads.requests": "reads",
    "writes.requests": "writes",
    "reads.bytes": "bytes_read",
    "writes.bytes": "bytes_written",
    "reads.unique_bytes": "unique_bytes_read",
    "writes.unique_bytes": "unique_bytes_written",
}


def published(config: StandInConfig) -> dict[str, float]:
    """Return what sources give of the trace, by column of `ssdgym.workloads.records.summary.RecordSummary`.

    Sizes are in bytes. Assumed quantities are left out.
    """
    columns: dict[str, float] = {}
    if {"reads.requests", "writes.requests"} <= config.sources.keys():
        columns["requests"] = config.reads.requests + config.writes.requests
    for field, column in _COLUMNS.items():
        if field in config.sources:
            operation, _, quantity = field.partition(".")
            columns[column] = int(getattr(config.operations[operation], quantity))
    return columns
