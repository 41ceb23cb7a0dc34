"""Requests that benchmarks carry out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssdgym.requests import REQUEST, WRITE, Requests
from ssdgym.workloads import RequestStream


def page_writes(pages: NDArray[np.int64]) -> Requests:
    """Return one request for each page, which writes it."""
    requests = np.zeros(len(pages), REQUEST)
    requests["lpn"], requests["pages"], requests["op"] = pages, 1, WRITE
    return requests


def take(stream: RequestStream, count: int) -> Requests:
    """Return so many requests of a stream, which gives fewer at a time than it is asked for.

    Args:
        stream: with at least so many requests.
        count: how many.
    """
    parts = [stream.next(count)]
    while (missing := count - sum(map(len, parts))) > 0:
        parts.append(stream.next(missing))
    return np.concatenate(parts)
