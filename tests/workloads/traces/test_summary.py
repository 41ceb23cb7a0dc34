"""The summary of records: figures one can check by hand, and a slow count of everything beside it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.statistics import RecordSummary, summarize
from tests.workloads.traces.sources import PAGE, ArraySource, make_records, record_arrays

MADE = make_records(
    [
        (0, 0, 2 * PAGE, 0, WRITE),
        (1000, 2 * PAGE, PAGE, 0, READ),  # goes on where the write ended
        (3000, 0, 512, 1, WRITE),  # the first on its volume
        (2000, 3 * PAGE, PAGE, 0, WRITE),  # late, and goes on where the read ended
        (5000, 0, 0, 0, FLUSH),
        (9000, 512, 512, 1, WRITE),  # goes on, in the page that is written already
        (9000, 0, PAGE, 0, WRITE),
        (9000, 0, PAGE, 0, TRIM),
    ]
)


def summary_of(records: Records) -> RecordSummary:
    return summarize(ArraySource(records))


def test_summary__of_requests_made_by_hand() -> None:
    found = summary_of(MADE)
    assert (found.requests, found.reads, found.writes, found.trims, found.flushes) == (8, 1, 5, 1, 1)
    assert (found.bytes_read, found.bytes_written, found.bytes_trimmed) == (PAGE, 4 * PAGE + 1024, PAGE)
    assert found.unique_bytes_written == 4 * PAGE  # three pages of one volume and one of the other
    assert found.exact_unique_bytes_written == 3 * PAGE + 1024
    assert found.unique_bytes_read == PAGE
    assert found.unique_bytes == 5 * PAGE
    assert found.overwrite_factor == (4 * PAGE + 1024) / (4 * PAGE)
    assert found.volumes == {"v0": 6, "v1": 2}
    assert found.out_of_order == 1
    assert found.duration_ns == 9000
    assert found.sequential == 3
    assert found.sequential_share == 3 / 7


def test_sizes__are_exact() -> None:
    found = summary_of(MADE)
    assert found.write_sizes.values.tolist() == [512, PAGE, 2 * PAGE]
    assert found.write_sizes.counts.tolist() == [2, 2, 1]
    assert found.write_sizes.mean == (4 * PAGE + 1024) / 5
    assert found.read_sizes.as_dict()["histogram"] == [{"from": PAGE, "below": 2 * PAGE, "requests": 1}]


def test_gaps__are_those_between_arrivals_and_none_is_negative() -> None:
    found = summary_of(MADE)
    # 0, 1000, 3000, 3000 (late), 5000, 9000, 9000, 9000
    assert found.gaps.counts.sum() == 7
    assert found.gaps.values.tolist() == pytest.approx([0, 1000, 2000, 4000], rel=1 / 256)
    assert found.gaps.counts.tolist() == [3, 1, 2, 1]
    assert found.mean_gap_ns == 9000 / 7
    assert found.max_gap_ns == 4000


def test_skew__counts_every_page_of_every_write() -> None:
    # Page 0 of v0 and of v1 are written twice, pages 1 and 3 of v0 once.
    skew = summary_of(MADE).skew
    assert skew.writes.tolist() == [2, 2, 1, 1]
    assert skew.share_of_top(0.5) == 4 / 6
    assert skew.written_once == 0.5


def test_one_request__has_no_gap_and_no_division_by_zero() -> None:
    found = summary_of(make_records([(7, 0, PAGE, 0, READ)]))
    assert found.mean_gap_ns is None and found.duration_ns == 0
    assert found.overwrite_factor is None
    assert found.skew.share_of_top(0.1) is None and found.skew.written_once is None
    assert json.dumps(found.as_dict(), allow_nan=False)


def test_a_first_request_after_time_0__does_not_count_as_a_gap() -> None:
    found = summary_of(make_records([(500, 0, PAGE, 0, READ), (600, 0, PAGE, 0, READ)]))
    assert found.duration_ns == 100 and found.mean_gap_ns == 100


@given(record_arrays(max_size=30))
def test_summary__agrees_with_a_slow_count(records: Records) -> None:
    """The source hands out three records at a time, so state has to survive from one chunk to the next."""
    found = summary_of(records)
    ends: dict[int, int] = {}
    sequential, latest, late = 0, 0, 0
    pages: dict[int, Counter[tuple[int, int]]] = {READ: Counter(), WRITE: Counter()}
    written: set[tuple[int, int]] = set()
    for time_ns, offset, size, volume, op in records.tolist():
        late += time_ns < latest
        latest = max(latest, time_ns)
        if op == FLUSH:
            continue
        sequential += ends.get(volume) == offset
        ends[volume] = offset + size
        if op in pages:
            pages[op].update(
                (volume, page) for page in range(offset // PAGE, (offset + size - 1) // PAGE + 1)
            )
        if op == WRITE:
            written |= {(volume, byte) for byte in range(offset, offset + size)}
    assert found.sequential == sequential
    assert found.out_of_order == late
    assert found.unique_bytes_read == PAGE * len(pages[READ])
    assert found.unique_bytes_written == PAGE * len(pages[WRITE])
    assert found.unique_bytes == PAGE * len(pages[READ] | pages[WRITE])
    assert found.exact_unique_bytes_written == len(written)
    assert found.skew.writes.tolist() == sorted(pages[WRITE].values(), reverse=True)
    assert found.duration_ns == latest - records["time_ns"][0]
