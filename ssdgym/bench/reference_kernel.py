"""A kernel that does nothing but the memory touches of a host write.

It reads a request, reads and writes the record of its logical page, and writes that of a physical page.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssdgym.engine.core.kernel import entry
from ssdgym.requests import Requests

LOGICAL_PAGES = 59_813


def touching_memory(requests: Requests) -> Callable[[], int]:
    """Return what touches memory once for each request, and returns how many there are."""
    logical = np.zeros(LOGICAL_PAGES, np.dtype([("ppn", "i4"), ("version", "i4")]))
    physical = np.zeros(64_000, np.dtype([("lpn", "i4"), ("version", "i4")]))
    return lambda: _touch_memory(logical, physical, requests)


@entry
def _touch_memory(logical, physical, requests):  # type: ignore[no-untyped-def]
    """Touch the memory of one host write per request, without any decision."""
    ppn = 0
    for k in range(requests.shape[0]):
        lpn = requests[k].lpn
        record = logical[lpn]
        physical[record.ppn].lpn = -1
        record.ppn = ppn
        record.version += 1
        physical[ppn].lpn = lpn
        physical[ppn].version = record.version
        ppn += 1
        if ppn == physical.shape[0]:
            ppn = 0
    return requests.shape[0]
