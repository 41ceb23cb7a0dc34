"""What it took to reproduce a figure: time, and memory of this machine and of the simulated controller."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence

from ssdgym.experiments.results import Result

_MIB = 2**20


def cost_lines(results: Sequence[Result]) -> list[str]:
    """Return the time that each workload took, the memory of the largest process of this session, and that of
    each policy's tables.

    Args:
        results: of runs that differ, those from an earlier session with the time they took then.
    """
    seconds: dict[str, list[float]] = {}
    tables: dict[str, float] = {}
    for result in results:
        seconds.setdefault(result.workload, []).append(result.wall_seconds)
        size = result.metrics.get("policy_memory_bytes", 0)
        tables[result.policy] = max(tables.get(result.policy, 0), size)
    lines = [
        f"time of {name}: {sum(spent):.1f} s for {len(spent)} runs, the longest {max(spent):.1f} s"
        for name, spent in seconds.items()
    ]
    lines.append(f"memory of the largest process: {_peak_bytes() / _MIB:.0f} MiB")
    kept = [f"{name} {size / 1000:.1f} kB" for name, size in tables.items() if size]
    return [*lines, f"tables in the controller's memory: {', '.join(kept)}"] if kept else lines


def _peak_bytes() -> int:
    """The most memory that this process or one of its ended children has held at once."""
    own, children = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    unit = 1 if sys.platform == "darwin" else 1024
    return max(own, children) * unit
