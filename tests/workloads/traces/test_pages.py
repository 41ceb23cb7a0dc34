"""Byte ranges become pages that cover them, numbered as asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads import PARTIAL_HEAD, PARTIAL_TAIL, READ, WRITE
from ssdgym.workloads.traces.pages import compact, count_pages, to_pages
from ssdgym.workloads.traces.records import RECORD

PAGE = 4096

byte_ranges = st.lists(
    st.tuples(st.integers(0, 40 * PAGE), st.integers(1, 5 * PAGE), st.sampled_from([READ, WRITE])),
    min_size=1,
    max_size=12,
)


def records(ranges: list[tuple[int, int, int]]) -> np.ndarray:
    return np.array([(i, offset, size, op) for i, (offset, size, op) in enumerate(ranges)], RECORD)


def page_sets(requests: np.ndarray) -> list[range]:
    return [range(r["lpn"], r["lpn"] + r["pages"]) for r in requests]


@given(byte_ranges)
def test_pages_cover_the_bytes_and_no_page_more(ranges: list[tuple[int, int, int]]) -> None:
    for (offset, size, _), pages in zip(ranges, page_sets(to_pages(records(ranges), PAGE)), strict=True):
        assert pages[0] * PAGE <= offset < (pages[0] + 1) * PAGE
        assert pages[-1] * PAGE < offset + size <= (pages[-1] + 1) * PAGE


@given(byte_ranges)
def test_only_writes_that_miss_part_of_a_page_are_flagged(ranges: list[tuple[int, int, int]]) -> None:
    for (offset, size, op), request in zip(ranges, to_pages(records(ranges), PAGE), strict=True):
        head = op == WRITE and offset % PAGE != 0
        tail = op == WRITE and (offset + size) % PAGE != 0
        assert bool(request["flags"] & PARTIAL_HEAD) == head
        assert bool(request["flags"] & PARTIAL_TAIL) == tail


@given(byte_ranges)
def test_compact_pages_are_dense_and_keep_order_and_identity(ranges: list[tuple[int, int, int]]) -> None:
    before = to_pages(records(ranges), PAGE)
    after = compact(before)
    touched = sorted({page for pages in page_sets(before) for page in pages})
    rank = {page: number for number, page in enumerate(touched)}
    assert count_pages(before) == len(touched)
    assert [[rank[page] for page in pages] for pages in page_sets(before)] == [
        list(pages) for pages in page_sets(after)
    ]


def test_no_requests_touch_no_page() -> None:
    assert count_pages(to_pages(records([]), PAGE)) == 0
