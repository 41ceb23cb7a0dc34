"""Open any workload as a stream of requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from ssdgym.config.generated import GeneratedConfig, MixedConfig
from ssdgym.config.recorded import PlayedConfig, TraceConfig
from ssdgym.config.small_writes import SmallWritesConfig
from ssdgym.config.tenants import TenantsConfig
from ssdgym.config.workload import RecordedConfig, WorkloadConfig, is_endless, never_writes
from ssdgym.errors import SsdgymError
from ssdgym.requests import Requests
from ssdgym.workloads.accesses import Accesses, footprint_range
from ssdgym.workloads.chunks import ChunkedStream, Source
from ssdgym.workloads.mixed import MixedAccesses
from ssdgym.workloads.pacing import Paced
from ssdgym.workloads.recorded import has_writes, open_recorded, recorded_pages
from ssdgym.workloads.small_writes import SmallWrites, small_writes_pages
from ssdgym.workloads.tenants import open_tenants
from ssdgym.workloads.traces.loading import trace_hash

#: Keeps the workload's draws apart from the other users of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class RequestStream(Protocol):
    """A workload on its way into a device.

    Attributes:
        report: facts about the workload as a whole: ``footprint_pages``, and for traces and stand-ins
            ``requests``, ``trace_pages``, ``out_of_order``, ``trims_below_a_page`` and ``skipped_lines``;
            for tenants how many ``tenants``, and the sums over them, but for the first two of these.
            To know them may take a look at all of a trace.
    """

    @property
    def report(self) -> dict[str, int]: ...

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests, shape (n,), dtype REQUEST; empty at the end.

        The requests do not depend on the portions in which they are asked for.
        """


def open_workload(config: WorkloadConfig, *, logical_pages: int, page_size: int, seed: int) -> RequestStream:
    """Start a workload from its first request.

    Args:
        config: the workload.
        logical_pages: size of the logical space; every request lies within it.
        page_size: bytes per page; matters to workloads given in bytes: traces, stand-ins, small writes.
        seed: not negative; the same seed gives the same requests. Traces do not use it.

    Raises:
        SsdgymError: the workload does not fit the device, its trace cannot be read, or the seed is no seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SsdgymError(f"the seed of a workload must be a whole number from 0 up, not {seed!r:.60}.")
    if isinstance(config, PlayedConfig):
        return open_recorded(config, logical_pages, page_size, int(seed))
    root = np.random.SeedSequence([seed, _WORKLOAD_STREAM])
    if isinstance(config, TenantsConfig):
        return open_tenants(config, logical_pages, page_size, root, open_workload)
    pattern_seed, pace_seed = root.spawn(2)
    source: Source
    if isinstance(config, SmallWritesConfig):
        source = SmallWrites(config, logical_pages, page_size, pattern_seed)
        report = partial(_pages, small_writes_pages, config, logical_pages, page_size)
    else:
        source = (
            MixedAccesses(config, logical_pages, pattern_seed)
            if isinstance(config, MixedConfig)
            else Accesses(config, logical_pages, pattern_seed)
        )
        report = partial(_pages, _generated_footprint, config, logical_pages)
    return ChunkedStream(Paced(source, config, pace_seed), report)


def _pages(count: Callable[..., int], *arguments: Any) -> dict[str, int]:
    return {"footprint_pages": count(*arguments)}


def footprint_pages(config: RecordedConfig, page_size: int, seed: int = 0) -> int:
    """Return how many different pages of `page_size` bytes a trace or a stand-in touches.

    A device of that many logical pages holds it with ``addresses: compact``.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    return recorded_pages(config, page_size, seed)


def writes_nothing(config: WorkloadConfig) -> bool:
    """Does the workload write no page at all, so that no number of host pages would ever be reached?

    Of tenants some of whom go on for ever, those must write; the others' writes come to an end.

    Raises:
        SsdgymError: its trace cannot be read.
    """
    if isinstance(config, TenantsConfig):
        workloads = [tenant.workload for tenant in config.tenants]
        endless = [workload for workload in workloads if is_endless(workload)]
        return all(writes_nothing(workload) for workload in endless or workloads)
    return not has_writes(config) if isinstance(config, PlayedConfig) else never_writes(config)


def trace_hashes(config: WorkloadConfig) -> list[str]:
    """Return the SHA-256 of every trace file that a workload plays.

    Raises:
        SsdgymError: one is missing.
    """
    if isinstance(config, TenantsConfig):
        return [digest for tenant in config.tenants for digest in trace_hashes(tenant.workload)]
    return [trace_hash(config)] if isinstance(config, TraceConfig) else []


def _generated_footprint(config: GeneratedConfig, logical_pages: int) -> int:
    """Return the pages within reach of a generated workload; overlapping components count once."""
    parts = [part.workload for part in config.components] if isinstance(config, MixedConfig) else [config]
    covered, end = 0, 0
    for first, pages in sorted(footprint_range(part, logical_pages) for part in parts):
        covered += max(first + pages - max(first, end), 0)
        end = max(end, first + pages)
    return covered
