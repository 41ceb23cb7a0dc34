"""Block FTLs in time, and merges that are spread over writes, by example, on the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..helpers import Row, flush, read, trim, write
from . import BlockReference
from .test_block import ALL, SMALL, counted, last_candidate, more, places, ran, writes

# A read takes 50 + 10, a write 10 + 200, a copy 50 + 20 + 200 and an erase 1000 ns; a spare area 50 + 2.
TIMED = replace(SMALL, timing="event")
SPREAD = replace(SMALL, merges="spread")
#: Bundle 0 has a D with four programmed pages, and a U without an erased one.
FULL_U = [write(0, 0, 4), *writes(0, 0, 0, 0)]


# Reads


@pytest.mark.parametrize(
    ("search", "lpn", "latency", "searched"),
    [("timed", 2, 150 + 14, 2), ("timed", 0, 100 + 12, 1), ("timed", 1, 60, 0), ("free", 2, 60, 0)],
)
def test_read__searches_u_from_its_end(search: str, lpn: int, latency: int, searched: int) -> None:
    reference = ran(replace(TIMED, u_block_search=search), [write(0, 0, 4), *writes(0, 1), read(9999, lpn)])
    assert reference.latencies[3] == latency
    assert counted(reference, "search_reads", "flash_reads") == (searched, 1)


def test_write_of_part__reads_first() -> None:
    for timing in ("none", "event"):
        reference = ran(
            replace(SMALL, timing=timing), [write(0, 0, 4), write(0, 0), flush(0), write(0, 1, 1, 1)]
        )
        assert counted(reference, "rmw_reads", "flash_reads", "search_reads") == (1, 1, 1)
    assert reference.latencies[3] == 5 * 210 + 100 + 12 + 210


def test_read__of_a_page_that_waits_to_be_written__takes_no_time() -> None:
    reference = ran(TIMED, [*writes(0, 0), read(0, 0), read(0, 1)])
    assert (reference.latencies[2], reference.latencies[3]) == (0, 0)
    assert counted(reference, "queue_hits", "unmapped_reads", "flash_reads") == (1, 1, 0)


# Writes


def test_write__overtaken_by_a_trim__programs_nothing() -> None:
    reference = ran(TIMED, [*writes(0, 1), trim(0, 1), *writes(2)])
    assert [reference.latencies[k] for k in (0, 1, 3)] == [210, 210, 420]
    assert counted(reference, "host_pages_written") == (3,)
    assert reference.device.clock == 3
    assert not reference.device.is_written(1)


def test_write__that_needs_a_merge__waits_for_it() -> None:
    reference = ran(TIMED, [*FULL_U, *writes(1)])
    job_ns = 8 * 52 + 4 * 270 + 2 * 1000
    assert reference.latencies[5] == 8 * 210 + job_ns + 210
    assert counted(reference, "gc_time_ns") == (job_ns,)
    copied_back = ran(replace(TIMED, copyback=True), [*FULL_U, *writes(1)])
    assert copied_back.latencies[5] == 8 * 210 + job_ns - 4 * 20 + 210


@pytest.mark.parametrize(
    ("priority", "latency"),
    [("first", 416 + 4 * 270 + 2000 + 60), ("after_reads", 416 + 5 * 50 + 10 + 4 * 2)],
)
def test_read__before_or_after_the_job(priority: str, latency: int) -> None:
    # Between two commands of the job page 3 is in D, behind a search of U.
    config = replace(TIMED, gc_priority=priority)
    reference = ran(config, [*FULL_U, *writes(1), read(8 * 210, 3)])
    assert reference.latencies[6] == latency


def test_trim__of_a_page_that_a_job_has_not_reached__keeps_it_from_being_copied() -> None:
    start = 8 * 210
    reference = ran(TIMED, [*FULL_U, *writes(1), trim(start + 1, 2)])
    assert counted(reference, "relocated_pages", "merges") == (3, 1)
    assert reference.device.slots[0] == [2, 3, None]


def test_trim__of_a_page_after_the_plan__keeps_the_plan() -> None:
    start = 8 * 210
    reference = ran(TIMED, [*FULL_U, *writes(1), trim(start + 1, 2)], last_candidate)
    # Only page 0 is restored; the trimmed page stays programmed, and invalid.
    assert counted(reference, "relocated_pages", "partial_erases", "m_merges") == (1, 1, 1)
    assert reference.device.invalid_in_block(0) == 2
    assert reference.device.slots[0] == [0, 2, None]


# Spread merges


def job(reference: BlockReference) -> tuple[int, ...]:
    return reference.export()["jobs"][0]


def test_spread__a_job_goes_on_a_step_with_every_page() -> None:
    reference = ran(SPREAD, FULL_U)
    # Four copies and two erases cost 12 copies, for a pool of four blocks: four commands a page.
    assert job(reference) == (0, 0, 0, 1, 4, 0)
    assert counted(reference, "relocated_pages", "spare_reads", "erases") == (3, 8, 0)
    more(reference, writes(4))
    assert job(reference) == ()
    assert counted(reference, "relocated_pages", "erases", "full_jobs") == (4, 2, 1)
    assert reference.device.slots[0] == [2, None, None]


def test_spread__a_page_of_the_same_bundle_waits_for_the_job() -> None:
    reference = ran(SPREAD, FULL_U)
    more(reference, writes(0))
    assert job(reference) == ()
    assert reference.device.slots[0] == [2, 3, None]


def test_spread__with_few_blocks__the_victim_is_collected() -> None:
    reference = ran(replace(SPREAD, blocks_per_plane=5), ALL)
    assert job(reference) == ()
    more(reference, writes(0))
    # One block is left, and the job is due at once: 4 copies and 2 erases cost 12 copies, all for one page.
    assert counted(reference, "pool_jobs", "merges") == (1, 1)
    assert job(reference) == ()


def test_spread__without_blocks__the_job_is_carried_to_its_end() -> None:
    reference = ran(replace(SPREAD, blocks_per_plane=6), [*ALL, *writes(0)], last_candidate)
    assert job(reference) == ()
    more(reference, writes(4))
    assert counted(reference, "pool_jobs") == (1,)


def test_spread__at_the_horizon__the_job_has_begun_and_is_not_planned() -> None:
    reference = ran(SPREAD, FULL_U[:-1])
    more(reference, writes(0, 4), horizon=1)
    assert job(reference) == (0, 0, 0, 0)
    assert reference.counters["gc_invocations"] == 0


def test_spread__in_time__a_read_waits_for_a_step_only() -> None:
    requests: list[Row] = [*FULL_U, read(8 * 210, 8), write(8 * 210, 4)]
    reference = ran(replace(TIMED, merges="spread"), requests)
    # SCAN and three copies, then the write; what is left of the job follows it.
    assert reference.latencies[6] == 416 + 3 * 270 + 210
    assert counted(reference, "erases") == (0,)
    more(reference, [read(0, 4)])
    assert counted(reference, "erases") == (2,)
    assert places(reference, 4) == [(3, 0)]
