"""Arithmetic on page numbers, and hashes that replace random numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ssdgym.requests import PARTIAL_HEAD, PARTIAL_TAIL, Requests
from ssdgym.types import IntArray, IntegerArray


class Picker(Protocol):
    """Chooses the pages of requests within a footprint, the range of pages that a workload uses."""

    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        """Return the first page of each request, counted from the footprint's start, shape (n,).

        `sizes` are the pages of the requests. The caller splits requests that cross the footprint's end.
        """


def align(pages: IntegerArray, sizes: IntegerArray, footprint: int) -> IntegerArray:
    """Move each first page down to a multiple of its request's size, or further to end in the footprint.

    `pages` (first pages from the footprint's start) and `sizes` (in pages) have the shape (n,).
    """
    return np.minimum(pages - pages % sizes, footprint - sizes)


def split_at_end(requests: Requests, limit: int) -> Requests:
    """Take page numbers modulo `limit`, and split each request that crosses a multiple of `limit`."""
    first = requests["lpn"].astype(np.int64)
    end = first + requests["pages"]
    if not len(requests) or int(end.max()) <= limit:
        return requests
    pieces = np.maximum((end - 1) // limit - first // limit + 1, 1)
    parts = np.repeat(requests, pieces)
    if len(parts) > len(requests):
        _shorten(parts, pieces, limit)
    parts["lpn"] %= limit
    return parts


def _shorten(parts: Requests, pieces: IntegerArray, limit: int) -> None:
    """Shorten the copies of requests, which then cover each page once and are cut at multiples of `limit`.

    Request i has `pieces[i]` copies in a row in `parts`.
    """
    last = np.cumsum(pieces) - 1
    number = np.arange(len(parts)) - np.repeat(last - pieces + 1, pieces)
    is_first, is_last = number == 0, np.zeros(len(parts), bool)
    is_last[last] = True
    first = parts["lpn"].astype(np.int64)
    end = first + parts["pages"]
    lap_start = (first // limit + number) * limit
    start = np.maximum(first, lap_start)
    parts["lpn"] = start
    parts["pages"] = np.minimum(end, lap_start + limit) - start
    inner_ends = ~is_first * PARTIAL_HEAD | ~is_last * PARTIAL_TAIL
    parts["flags"] &= ~inner_ends.astype(np.uint8)


WordArray = npt.NDArray[np.uint64]


def mixed(numbers: IntArray | WordArray) -> WordArray:
    """Hash numbers to 64 bits with splitmix64 (Steele, Lea and Flood, OOPSLA 2014), shape (n,)."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def uniform(words: WordArray) -> npt.NDArray[np.float64]:
    """Convert words of `mixed` to numbers that are uniform in [0, 1), shape (n,)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
