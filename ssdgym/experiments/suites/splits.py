"""The splits of a suite: what a training may look at, and what says so on the card of an agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload


def split_digest(suite: SuiteConfig) -> str:
    """Return a hash of the workloads of all splits of a suite, the order of each included."""
    text = json.dumps(suite.model_dump(mode="json")["splits"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def training_workloads(suite: SuiteConfig, others: Sequence[Any], where: str) -> list[Any]:
    """Return what may be trained on: the training split, and others that are in no split.

    Args:
        suite: whose splits count.
        others: workloads beside the split.
        where: what errors start with.

    Raises:
        SsdgymError: there is no training split, or one of the others is in another split.
    """
    if "training" not in suite.splits or "validation" not in suite.splits:
        raise SsdgymError(f"{where}: the suite has no splits training and validation; choose another one.")
    trained = [*suite.splits["training"], *others]
    for split in ("validation", "test"):
        kept = {repr(load_workload(one)) for one in suite.splits.get(split, ())}
        for one in trained:
            if kept & {repr(part) for part in _with_parts(load_workload(one))}:
                raise SsdgymError(
                    f"{where}: trains on {one!r:.60}, which is, or has a part, of the split {split} of the "
                    "suite; leave it out."
                )
    return trained


def _with_parts(workload: WorkloadConfig) -> Iterator[WorkloadConfig]:
    """Yield a workload, what it is made of, and what that is made of."""
    yield workload
    for part in workload.parts():
        yield from _with_parts(part)
