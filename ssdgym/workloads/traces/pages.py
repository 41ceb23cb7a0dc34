"""From byte ranges to logical pages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ssdgym.workloads.requests import PARTIAL_HEAD, PARTIAL_TAIL, REQUEST, WRITE, Requests
from ssdgym.workloads.traces.records import Records

#: REQUEST with pages numbered in 64 bits, as the addresses of a trace need not fit the device.
WIDE_REQUEST = np.dtype(
    [("arrival_ns", "i8"), ("lpn", "i8"), ("pages", "i8"), ("op", "u1"), ("flags", "u1")], align=True
)

IntArray = npt.NDArray[np.int64]


def to_pages(records: Records, page_size: int) -> Requests:
    """Return the pages of `page_size` bytes that each record touches, dtype WIDE_REQUEST, shape (n,).

    A write that covers its first or last page only in part is flagged so.
    """
    offset, size = records["offset_bytes"], records["size_bytes"]
    end = offset + size
    requests = np.zeros(len(records), WIDE_REQUEST)
    requests["arrival_ns"] = records["time_ns"]
    requests["lpn"] = offset // page_size
    requests["pages"] = (end - 1) // page_size - requests["lpn"] + 1
    requests["op"] = records["op"]
    head = np.where(offset % page_size != 0, PARTIAL_HEAD, 0)
    tail = np.where(end % page_size != 0, PARTIAL_TAIL, 0)
    requests["flags"] = np.where(records["op"] == WRITE, head | tail, 0)
    return requests


def touched_ranges(requests: Requests) -> tuple[IntArray, IntArray]:
    """Return the pages touched as separate ranges in address order: first pages and ends, shape (ranges,)."""
    order = np.argsort(requests["lpn"], kind="stable")
    start = requests["lpn"][order].astype(np.int64)
    end = np.maximum.accumulate(start + requests["pages"][order])
    opens = np.ones(len(start), bool)
    opens[1:] = start[1:] > end[:-1]
    return start[opens], end[np.append(np.flatnonzero(opens)[1:], len(start)) - 1] if len(start) else end


def count_pages(requests: Requests) -> int:
    """Return how many different pages the requests touch."""
    start, end = touched_ranges(requests)
    return int((end - start).sum())


def compact(requests: Requests) -> Requests:
    """Number the pages touched 0..n-1 in address order.

    Pages between the first and the last of a request are all touched, so a request stays in one piece.
    """
    start, end = touched_ranges(requests)
    new_start = np.cumsum(end - start) - (end - start)
    ranges = np.searchsorted(start, requests["lpn"], side="right") - 1
    result = requests.copy()
    result["lpn"] = new_start[ranges] + requests["lpn"] - start[ranges]
    return result


def narrow(requests: Requests) -> Requests:
    """Return dtype REQUEST; every page number must fit."""
    result = np.zeros(len(requests), REQUEST)
    for field in REQUEST.fields or ():
        result[field] = requests[field]
    return result
