"""Pages that a workload expects on the device: those that it reads before it writes them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ssdgym.requests import FLUSH, READ, Requests
from ssdgym.workloads.base import RequestStream

_CHUNK = 1 << 16
_PAGES_AT_ONCE = 1 << 20


def pages_read_first(stream: RequestStream, logical_pages: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the pages of which the first request is a read, once each, in the order of these reads.

    Args:
        stream: a workload from its first request on, to its end.
        logical_pages: size of the logical space.
    """
    is_new = np.ones(logical_pages, bool)
    while len(requests := stream.next(_CHUNK)):
        requests = requests[requests["op"] != FLUSH]
        for part in _parts(requests):
            pages, position = _pages_of(part)
            touched, first = np.unique(pages, return_index=True)
            first = first[is_new[touched]]
            is_new[touched] = False
            first = np.sort(first[part["op"][position[first]] == READ])
            if len(first):
                yield pages[first]


def _parts(requests: Requests) -> Iterator[Requests]:
    """Yield the requests some at a time, so that their pages are not too many at once."""
    ends = np.cumsum(requests["pages"], dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_PAGES_AT_ONCE, total, _PAGES_AT_ONCE))
    yield from np.split(requests, cuts)


def _pages_of(requests: Requests) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the pages of requests in order, and the position of the request that each belongs to."""
    counts = requests["pages"].astype(np.int64)
    before = np.cumsum(counts) - counts
    position = np.repeat(np.arange(len(requests)), counts)
    return np.arange(len(position)) - before[position] + requests["lpn"][position], position
