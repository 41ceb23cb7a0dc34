"""Open any workload as a stream of requests."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ssdgym.config.workload import MixedConfig, TraceConfig, WorkloadConfig, never_writes
from ssdgym.errors import SsdgymError
from ssdgym.workloads.accesses import Accesses, footprint_range
from ssdgym.workloads.chunks import ChunkedStream
from ssdgym.workloads.mixed import MixedAccesses
from ssdgym.workloads.pacing import Paced
from ssdgym.workloads.requests import WRITE, Requests
from ssdgym.workloads.traces.loading import load_trace
from ssdgym.workloads.traces.replay import open_trace, trace_footprint_pages

#: Keeps the workload's draws apart from the other users of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class RequestStream(Protocol):
    """A workload on its way into a device.

    Attributes:
        report: facts about the workload as a whole: ``footprint_pages``, and for traces ``requests``,
            ``trace_pages``, ``skipped_lines`` and ``out_of_order``.
    """

    report: dict[str, int]

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests, shape (n,), dtype REQUEST; empty at the end.

        The requests do not depend on the portions in which they are asked for.
        """


def open_workload(config: WorkloadConfig, *, logical_pages: int, page_size: int, seed: int) -> RequestStream:
    """Start a workload from its first request.

    Args:
        config: the workload.
        logical_pages: size of the logical space; every request lies within it.
        page_size: bytes per page; matters to traces only.
        seed: not negative; the same seed gives the same requests. Traces do not use it.

    Raises:
        SsdgymError: the workload does not fit the device, its trace cannot be read, or the seed is no seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SsdgymError(f"the seed of a workload must be a whole number from 0 up, not {seed!r:.60}.")
    if isinstance(config, TraceConfig):
        return open_trace(config, logical_pages, page_size)
    pattern_seed, pace_seed = np.random.SeedSequence([seed, _WORKLOAD_STREAM]).spawn(2)
    source = (
        MixedAccesses(config, logical_pages, pattern_seed)
        if isinstance(config, MixedConfig)
        else Accesses(config, logical_pages, pattern_seed)
    )
    report = {"footprint_pages": _generated_footprint(config, logical_pages)}
    return ChunkedStream(Paced(source, config, pace_seed), report)


def footprint_pages(config: TraceConfig, page_size: int) -> int:
    """Return how many different pages of `page_size` bytes a trace touches.

    A device of that many logical pages holds the trace with ``addresses: compact``.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    return trace_footprint_pages(config, page_size)


def writes_nothing(config: WorkloadConfig) -> bool:
    """Does the workload write no page at all, so that no number of host pages would ever be reached?

    Raises:
        SsdgymError: its trace cannot be read.
    """
    if isinstance(config, TraceConfig):
        return not (load_trace(config).records["op"] == WRITE).any()
    return never_writes(config)


def _generated_footprint(config: WorkloadConfig, logical_pages: int) -> int:
    """Return the pages within reach of a generated workload; overlapping components count once."""
    assert not isinstance(config, TraceConfig)
    parts = [part.workload for part in config.components] if isinstance(config, MixedConfig) else [config]
    covered, end = 0, 0
    for first, pages in sorted(footprint_range(part, logical_pages) for part in parts):
        covered += max(first + pages - max(first, end), 0)
        end = max(end, first + pages)
    return covered
