"""Records played on a device: on its pages, in loops, with a report."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads import FLUSH, PARTIAL_TAIL, REQUEST, TRIM, WRITE, RequestStream
from ssdgym.workloads.base import Loops
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.replay import Played, survey
from tests.workloads.taking import each_clone
from tests.workloads.traces.sources import PAGE, ArraySource, make_records, record_arrays

#: Three writes: pages 10..12, half of page 100, page 11.
THREE = make_records(
    [
        (0, 10 * PAGE, 3 * PAGE, 0, WRITE),
        (400, 100 * PAGE, PAGE // 2, 0, WRITE),
        (1000, 11 * PAGE, PAGE, 0, WRITE),
    ]
)


def played(
    records: Records, logical_pages: int = 500, addresses: str = "compact", loops: int | None = 1
) -> RequestStream:
    known = survey(ArraySource(records), PAGE)
    source, compact = ArraySource(records), known.compact if addresses == "compact" else None
    laps = partial(Played, source, source, compact, logical_pages, PAGE)
    return RequestStream(Loops(laps, loops), partial(known.report, addresses, logical_pages))


def take(stream: RequestStream, portions: int = 1000) -> np.ndarray:
    return np.concatenate([np.zeros(0, REQUEST)] + [stream.next(100) for _ in range(portions)])


def page_sequence(requests: np.ndarray) -> list[int]:
    """Return every page asked for, in order; flushes ask for none."""
    return [page for r in requests for page in range(r["lpn"], r["lpn"] + r["pages"])]


def test_compact_numbers_the_pages_touched() -> None:
    stream = played(THREE, logical_pages=50)
    assert take(stream)[["arrival_ns", "lpn", "pages", "op", "flags"]].tolist() == [
        (0, 0, 3, WRITE, 0),
        (400, 3, 1, WRITE, PARTIAL_TAIL),
        (1000, 1, 1, WRITE, 0),
    ]
    assert stream.report == {
        "requests": 3,
        "footprint_pages": 4,
        "trace_pages": 4,
        "out_of_order": 0,
        "trims_below_a_page": 0,
        "written_pages": 5,
        "rewritten_pages": 1,
    }


def test_fold_takes_pages_modulo_the_device_and_splits_at_its_end() -> None:
    stream = played(THREE, logical_pages=11, addresses="fold")
    assert take(stream)[["lpn", "pages"]].tolist() == [(10, 1), (0, 2), (1, 1), (0, 1)]
    assert stream.report["footprint_pages"] == 3
    assert stream.report["trace_pages"] == 4
    assert stream.report["requests"] == 3


@given(record_arrays(), st.integers(1, 200))
def test_fold_reports_the_pages_that_are_played(records: Records, logical_pages: int) -> None:
    stream = played(records, logical_pages, "fold")
    pages = page_sequence(take(stream, 2 * len(records)))
    assert stream.report["footprint_pages"] == len(set(pages))
    assert all(0 <= page < logical_pages for page in pages)


@given(record_arrays())
def test_compact_and_fold_on_a_large_device_play_the_same_but_for_the_numbers(records: Records) -> None:
    compact = page_sequence(take(played(records), 2 * len(records)))
    folded = page_sequence(take(played(records, 10**6, "fold"), 2 * len(records)))
    rank = {page: number for number, page in enumerate(sorted(set(folded)))}
    assert compact == [rank[page] for page in folded]


def test_loops_follow_each_other_at_the_pace_of_the_trace() -> None:
    requests = take(played(THREE, loops=3))
    # Each loop lasts 1,000 ns, and the mean time between arrivals is 500 ns.
    assert requests["arrival_ns"].tolist() == [0, 400, 1000, 1500, 1900, 2500, 3000, 3400, 4000]
    assert requests["lpn"].tolist() == [0, 3, 1] * 3
    assert len(take(played(THREE, loops=None), 1000)) == 3000


def test_times_of_endless_loops_never_fall_nor_leave_64_bits() -> None:
    year_ns = 365 * 86_400 * 10**9
    stream = played(make_records([(0, 0, PAGE, 0, WRITE), (9 * year_ns, 0, PAGE, 0, WRITE)]), loops=None)
    times = take(stream, 100)["arrival_ns"]
    assert (np.diff(times) >= 0).all()
    assert times[0] == 0 and times[-1] == 2**62


def test_times_count_from_the_first_request_that_is_played() -> None:
    rows = [(10**9, 0, PAGE, 0, WRITE), (5, 0, PAGE, 0, WRITE), (10**9 + 7, 0, PAGE, 0, WRITE)]
    assert take(played(make_records(rows)))["arrival_ns"].tolist() == [0, 0, 7]
    falling = make_records([(100, 0, PAGE, 1, WRITE), *[(at, 0, PAGE, 0, WRITE) for at in (10, 20, 30)]])
    assert take(played(falling[1:], loops=2))["arrival_ns"].tolist() == [0, 10, 20, 30, 40, 50]


def test_nothing_is_played_of_trims_below_a_page_however_often() -> None:
    assert len(played(make_records([(0, 10, 100, 0, TRIM)]), loops=None).next(5)) == 0


def test_earlier_times_wait_for_the_latest_and_are_counted() -> None:
    times = (0, 500, 200, -100, 600)
    stream = played(make_records([(time, 0, PAGE, 0, WRITE) for time in times]))
    assert take(stream)["arrival_ns"].tolist() == [0, 500, 500, 500, 600]
    assert stream.report["out_of_order"] == 2


def test_trims_of_less_than_a_page_are_counted_and_flushes_pass_through() -> None:
    rows = [(0, 0, PAGE, 0, WRITE), (5, 10, 100, 0, TRIM), (6, 0, 0, 0, FLUSH), (7, 0, PAGE, 0, TRIM)]
    stream = played(make_records(rows))
    requests = [(0, 0, 1, WRITE, 0, 0), (6, 0, 0, FLUSH, 0, 0), (7, 0, 1, TRIM, 0, 0)]
    assert take(stream).tolist() == requests
    assert stream.report["trims_below_a_page"] == 1


@each_clone
@pytest.mark.parametrize("position", [0, 2, 4, 5])
def test_a_copy_goes_on_like_its_original(clone: Any, position: int) -> None:
    stream = played(THREE, loops=4)
    for _ in range(position):
        stream.next(1)
    twin = clone(stream)
    np.testing.assert_array_equal(take(twin), take(stream))


@given(record_arrays(), st.lists(st.integers(1, 5), min_size=1, max_size=10))
def test_the_portions_do_not_matter(records: Records, portions: list[int]) -> None:
    stream = played(records, loops=3)
    parts = np.concatenate([stream.next(portion) for portion in portions])
    np.testing.assert_array_equal(parts, take(played(records, loops=3))[: len(parts)])
