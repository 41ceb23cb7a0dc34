"""Open any workload as a stream of requests."""

from __future__ import annotations

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.workloads.base import RequestStream, WorkloadConfig
from ssdgym.workloads.records.played import PlayedConfig


def open_workload(config: WorkloadConfig, *, logical_pages: int, page_size: int, seed: int) -> RequestStream:
    """Start a workload from its first request.

    Args:
        config: the workload.
        logical_pages: size of the logical space; every request lies within it.
        page_size: bytes per page; matters to workloads given in bytes, such as traces and small writes.
        seed: not negative; the same seed gives the same requests. Of a trace it draws a random start only.

    Raises:
        SsdgymError: the workload does not fit the device, its trace cannot be read, or the seed is no seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SsdgymError(f"the seed of a workload must be a whole number from 0 up, not {seed!r:.60}.")
    return config.open(logical_pages, page_size, int(seed))


def footprint_pages(config: PlayedConfig, page_size: int, seed: int = 0) -> int:
    """Return how many different pages a trace or a synthetic trace touches, a window or not.

    A device of that many logical pages holds it with `addresses: compact`.

    Args:
        config: the workload.
        page_size: bytes per page.
        seed: of a synthetic trace.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    return config.touched_pages(page_size, seed)
