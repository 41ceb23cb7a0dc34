"""Metrics of whole runs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdgym.errors import SsdgymError


def metric_of(metrics: Mapping[str, Any], name: str, where: str) -> float:
    """Return a metric that has a logarithm.

    Args:
        metrics: of a run.
        name: of the metric, nested names joined by `/`.
        where: what an error begins with.

    Raises:
        SsdgymError: the run has none of that name, or it has no logarithm.
    """
    value: Any = metrics
    for part in name.split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(value, (int, float)) or not value > 0:
        raise SsdgymError(
            f"{where}: a run has {name} = {value}, of which there is no logarithm; choose another metric."
        )
    return float(value)
