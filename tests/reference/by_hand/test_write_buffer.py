"""The write buffer of the reference, held to cases computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .. import Reference
from ..helpers import TIMED, UNTIMED, flush, ran, read, trim, write
from ..loop import Held

# tR 50, tPROG 200, tBERS 1000, tX 10: a lone read takes 60 ns, a write 210 ns.

HOLDS_1 = replace(TIMED, write_buffer_pages=1)
HOLDS_2 = replace(TIMED, write_buffer_pages=2)
PARTIAL = 1  # flag of a request whose first page is written in part


def held(reference: Reference) -> list[int]:
    """From the front."""
    return [page.lpn for page in reference.loop.held.pages]


def programmed(reference: Reference) -> list[int]:
    """The logical pages on the first block, in order."""
    return [lpn for lpn, _ in reference.device.physical[:4] if lpn >= 0]


# What is held


@pytest.mark.parametrize("timing", ["none", "event"])
def test_the_page_written_longest_ago_leaves(timing: str) -> None:
    reference = ran(replace(HOLDS_2, timing=timing), [write(0, lpn) for lpn in (0, 1, 0, 2)])
    assert held(reference) == [2, 0]
    assert programmed(reference) == [1]
    assert reference.counters["buffer_absorbed"] == reference.counters["host_pages_written"] == 1


def test_what_is_held_is_done_at_once_and_what_evicts_a_page_when_that_is_programmed() -> None:
    reference = ran(HOLDS_1, [write(0, 0), write(0, 1), write(0, 1), write(0, 2)])
    assert reference.latencies == {0: 0, 1: 210, 2: 0, 3: 420}


def test_a_request_is_done_with_the_last_page_that_it_evicts() -> None:
    # it evicts two of its own pages
    assert ran(HOLDS_2, [write(0, 0, pages=4)]).latencies == {0: 420}


def test_an_absorbed_page_waits_for_a_place_of_the_window() -> None:
    config = replace(HOLDS_1, window_pages=1)
    assert ran(config, [write(0, 0), write(0, 1), write(0, 1)]).latencies == {0: 0, 1: 210, 2: 210}


def test_a_read_of_a_page_that_is_held_is_done_at_once() -> None:
    # page 1 is on its way to flash, page 0 is held, and on its way as well
    requests = [write(0, 0), write(0, 1), write(5, 0), *(read(6, lpn) for lpn in (0, 1, 2))]
    reference = ran(HOLDS_1, requests)
    assert [reference.latencies[k] for k in (3, 4, 5)] == [0, 0, 0]
    hits = [reference.counters[name] for name in ("buffer_reads", "queue_hits", "unmapped_reads")]
    assert hits == [1, 1, 1]
    assert reference.counters["host_reads"] == 3


@pytest.mark.parametrize("timing", ["none", "event"])
def test_a_trim_drops_a_page_that_is_held(timing: str) -> None:
    requests = [write(0, 0), write(0, 1), trim(0, 0), read(0, 0), read(0, 1)]
    reference = ran(replace(HOLDS_2, timing=timing), requests)
    assert held(reference) == [1]
    assert reference.counters["unmapped_reads"] == reference.counters["host_pages_trimmed"] == 1
    assert (reference.counters["buffer_reads"], reference.counters["flash_reads"]) == (1, 0)
    assert programmed(ran(replace(HOLDS_2, timing=timing), [*requests, flush(0)])) == [1]


def test_the_horizon_counts_pages_admitted_and_leaves_what_is_held() -> None:
    reference = ran(HOLDS_2, [write(0, lpn) for lpn in range(4)], horizon=3)
    assert held(reference) == [2, 1]
    reference.run([write(0, 4)])
    assert held(reference) == [4, 2]


# Pages written in part


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize(
    ("flags", "reads"),
    [
        pytest.param([PARTIAL], 1, id="a part"),
        pytest.param([0], 0, id="all of it"),
        pytest.param([PARTIAL, PARTIAL], 1, id="two parts"),
        pytest.param([PARTIAL, 0], 0, id="all of it at last"),
        pytest.param([0, PARTIAL], 0, id="all of it at first"),
        pytest.param([PARTIAL, 0, PARTIAL], 0, id="all of it in between"),
    ],
)
def test_the_old_page_is_read_where_all_that_is_held_of_it_are_parts(
    flags: list[int], reads: int, timing: str
) -> None:
    parts = [write(300, 0, flags=flag) for flag in flags]
    reference = ran(replace(HOLDS_1, timing=timing), [write(0, 0), flush(0), *parts, flush(300)])
    assert reference.counters["rmw_reads"] == reference.counters["flash_reads"] == reads
    assert reference.counters["host_pages_written"] == 2


def test_a_part_of_a_page_that_is_on_flash_nowhere_is_not_read_first() -> None:
    assert ran(HOLDS_1, [write(0, 0, flags=PARTIAL), flush(0)]).counters["rmw_reads"] == 0


def test_the_request_that_evicts_a_part_waits_for_its_read_and_its_program() -> None:
    reference = ran(HOLDS_1, [write(0, 0), flush(0), write(300, 0, flags=PARTIAL), write(300, 1)])
    assert reference.latencies[3] == 60 + 210


# Flushes


def test_a_flush_programs_what_is_held_from_the_back() -> None:
    reference = ran(HOLDS_2, [write(0, 0), write(0, 1), flush(0), read(0, 0)])
    assert programmed(reference) == [0, 1] and held(reference) == []
    assert reference.latencies == {0: 0, 1: 0, 3: 420 + 60}


def test_a_flush_programs_on_all_dies_as_far_as_the_window_has_places() -> None:
    config = replace(HOLDS_2, channels=2)
    requests = [write(0, 0), write(0, 1), flush(0), read(0, 0)]
    assert ran(config, requests).latencies[3] == 210 + 60
    assert ran(replace(config, window_pages=1), requests).latencies[3] == 420 + 60


def test_a_flush_of_more_pages_than_may_be_under_way_programs_all() -> None:
    config = replace(TIMED, write_buffer_pages=8, window_pages=2)
    reference = ran(config, [*(write(0, lpn) for lpn in range(6)), flush(0), write(0, 9)])
    assert held(reference) == [9] and reference.counters["host_pages_written"] == 6


def test_the_pages_of_a_flush_come_together() -> None:
    config = replace(HOLDS_2, planes_per_die=2, multi_plane="relaxed", multi_plane_writes=True)
    reference = ran(config, [write(0, 0), write(0, 1), flush(0), read(0, 0)])
    assert reference.counters["joined_writes"] == 1
    assert reference.latencies[3] == 20 + 200 + 60


def test_a_flush_waits_for_writes_before_it_evicts() -> None:
    # page 0 goes to flash for page 1, which is held until that has ended
    config = replace(HOLDS_1, channels=2)
    assert ran(config, [write(0, 0), write(0, 1), flush(0), read(0, 1)]).latencies[3] == 420 + 60


def test_the_pages_of_a_flush_do_not_count_for_the_horizon() -> None:
    reference = ran(HOLDS_2, [write(0, 0), write(0, 1), flush(0), write(0, 2), write(0, 3)], horizon=3)
    assert held(reference) == [2]


def test_untimed__garbage_is_collected_between_the_pages_of_a_flush() -> None:
    # the last page of block 5 and the first one of block 6, which leaves one block in the pool
    config = replace(UNTIMED, write_buffer_pages=2, pages_per_block=2, logical_pages=4)
    reference = ran(config, [write(0, lpn % 4) for lpn in range(13)])
    assert (reference.counters["host_pages_written"], reference.counters["rounds"]) == (11, 0)
    reference.run([flush(0)])
    assert reference.counters["host_pages_written"] == 13
    assert reference.counters["rounds"] >= 1


# What those see who decide about a page


def test_a_page_that_leaves_is_a_request_of_its_own_without_a_hint() -> None:
    config = replace(TIMED, placement="hints", blocks_per_plane=16, write_buffer_pages=1)
    hinted = [(0, lpn, 1, 1, 0, hint) for lpn, hint in ((0, 3), (1, 5))]
    assert set(ran(replace(config, write_buffer_pages=0), hinted).device.open) == {(0, 3), (0, 5)}
    assert set(ran(config, [*hinted, flush(0)]).device.open) == {(0, 0)}


def test_the_request_of_a_page_that_leaves() -> None:
    told = ran(HOLDS_1, [write(0, 3, pages=4)]).device.request
    assert (told.lpn, told.pages, told.hint) == (5, 1, 0)


def test_a_page_that_is_put_in_evicts_one_only_where_there_is_no_room() -> None:
    buffer = Reference(HOLDS_1).loop.held
    assert buffer.put(4, True) is None
    evicted = buffer.put(5, False)
    assert isinstance(evicted, Held) and (evicted.lpn, evicted.is_partial) == (4, True)
