"""Requests that benchmarks carry out."""

from __future__ import annotations

import numpy as np

from ssdgym.requests import Requests
from ssdgym.workloads import RequestStream


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
