"""Bytes become pages that cover them, numbered as asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, TRIM, WRITE
from ssdgym.workloads.traces import record as module
from ssdgym.workloads.traces.distributions import RangeSet
from ssdgym.workloads.traces.record import Compact, Records, Volumes, to_pages, volume_starts
from tests.workloads.traces.sources import PAGE, make_records, record_arrays, volumes_of


def pages_of(records: Records) -> np.ndarray:
    return to_pages(records, PAGE, volume_starts(volumes_of(records), PAGE))


def page_sets(requests: np.ndarray) -> list[set[int]]:
    return [set(range(r["lpn"], r["lpn"] + r["pages"])) for r in requests]


@given(record_arrays(ops=(READ, WRITE)))
def test_pages_cover_the_bytes_and_no_page_more(records: Records) -> None:
    starts = volume_starts(volumes_of(records), PAGE)
    for record, pages in zip(records, page_sets(pages_of(records)), strict=True):
        first = int(starts[record["volume"]]) + record["offset_bytes"] // PAGE
        last = int(starts[record["volume"]]) + (record["offset_bytes"] + record["size_bytes"] - 1) // PAGE
        assert pages == set(range(first, last + 1))


@given(record_arrays(ops=(READ, WRITE)))
def test_only_writes_that_miss_part_of_a_page_are_flagged(records: Records) -> None:
    for record, request in zip(records, pages_of(records), strict=True):
        head = record["op"] == WRITE and record["offset_bytes"] % PAGE != 0
        tail = record["op"] == WRITE and (record["offset_bytes"] + record["size_bytes"]) % PAGE != 0
        assert bool(request["flags"] & PARTIAL_HEAD) == head
        assert bool(request["flags"] & PARTIAL_TAIL) == tail


@given(record_arrays())
def test_volumes_never_share_a_page(records: Records) -> None:
    owners: dict[int, int] = {}
    whole = records[records["op"] == READ]
    for record, pages in zip(whole, page_sets(pages_of(whole) if len(whole) else []), strict=True):
        for page in pages:
            assert owners.setdefault(page, int(record["volume"])) == record["volume"]


def test_a_trim_frees_only_whole_pages_and_is_left_out_where_there_are_none() -> None:
    trims = [(0, PAGE // 2, 3 * PAGE, 0, TRIM), (0, 10, PAGE, 0, TRIM), (0, 0, 2 * PAGE, 0, TRIM)]
    requests = pages_of(make_records(trims))
    assert requests[["lpn", "pages", "op"]].tolist() == [(1, 2, TRIM), (0, 2, TRIM)]


def test_a_flush_has_no_pages_and_stays() -> None:
    requests = pages_of(make_records([(0, 5 * PAGE, PAGE, 1, WRITE), (7, 0, 0, 1, FLUSH)]))
    assert requests[["arrival_ns", "lpn", "pages", "op"]].tolist() == [(0, 5, 1, WRITE), (7, 0, 0, FLUSH)]


@given(record_arrays(), st.sampled_from([0, 10**6]))
def test_compact_pages_are_dense_and_keep_order_and_identity(records: Records, largest_table: int) -> None:
    before = pages_of(records)
    touched_set = RangeSet()
    touched_set.add(before["lpn"], before["lpn"] + before["pages"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGEST_TABLE", largest_table)
        after = Compact(*touched_set.ranges())(before)
    touched = sorted(set().union(*page_sets(before)))
    rank = {page: number for number, page in enumerate(touched)}
    assert touched_set.size() == len(touched)
    assert [{rank[page] for page in pages} for pages in page_sets(before)] == page_sets(after)
    assert (after["lpn"][after["op"] == FLUSH] == 0).all()


def test_volumes_too_far_apart_to_be_numbered_are_refused() -> None:
    far = Volumes(("a", "b"), (2**63 - 1, 2**63 - 1))
    assert volume_starts(far, PAGE).tolist() == [0, 2**51]
    with pytest.raises(SsdgymError, match="a trace: the 2 volumes reach so far"):
        volume_starts(far, 1)
