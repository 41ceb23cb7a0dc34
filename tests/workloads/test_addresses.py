"""Splitting at the end of the logical space keeps every page of every request."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads import PARTIAL_HEAD, PARTIAL_TAIL, REQUEST, WRITE
from ssdgym.workloads.addresses import align, split_at_end

BOTH = PARTIAL_HEAD | PARTIAL_TAIL


def pages_of(requests: np.ndarray) -> list[int]:
    return [page for r in requests for page in range(r["lpn"], r["lpn"] + r["pages"])]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 50)), max_size=8), st.integers(1, 40))
def test_split_requests_cover_the_same_pages_in_order(ranges: list[tuple[int, int]], limit: int) -> None:
    requests = np.array([(0, lpn, pages, WRITE, BOTH, 0) for lpn, pages in ranges], REQUEST)
    parts = split_at_end(requests.copy(), limit)
    assert pages_of(parts) == [page % limit for page in pages_of(requests)]
    assert np.count_nonzero(parts["flags"] & PARTIAL_HEAD) == len(requests)
    assert np.count_nonzero(parts["flags"] & PARTIAL_TAIL) == len(requests)


def test_the_partial_flags_stay_at_the_ends_of_a_split_request() -> None:
    parts = split_at_end(np.array([(7, 95, 210, WRITE, BOTH, 0)], REQUEST), 100)
    assert parts.tolist() == [
        (7, 95, 5, WRITE, PARTIAL_HEAD, 0),
        (7, 0, 100, WRITE, 0, 0),
        (7, 0, 100, WRITE, 0, 0),
        (7, 0, 5, WRITE, PARTIAL_TAIL, 0),
    ]


def test_align_moves_down_to_a_multiple_and_inside_the_footprint() -> None:
    pages, sizes = np.array([7, 8, 9, 9]), np.array([4, 8, 3, 1])
    assert align(pages, sizes, 10).tolist() == [4, 2, 7, 9]
