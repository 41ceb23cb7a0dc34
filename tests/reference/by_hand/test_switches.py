"""The switches of the page family on the reference, held to cases computed by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from .. import Device, Reference, ReferenceConfig
from ..helpers import TIMED, UNTIMED, flush, ran, read, write, writes
from ..page.policies import fifo

# tR 50, tPROG 200, tBERS 1000, tX 10: a lone read takes 60 ns, a write 210 ns, a move 270 ns.


# Writes that complete with their transfer


EARLY = replace(TIMED, write_completes="transfer")


def test_transfer__a_write_is_done_when_it_has_crossed_the_channel_and_the_die_stays_busy() -> None:
    reference = ran(EARLY, [write(0, 0), write(0, 1), read(5, 0)])
    # programs 10-210 and 280-480, read 210-270
    assert reference.latencies == {0: 10, 1: 280, 2: 270 - 5}


def test_transfer__all_pages_of_a_command_are_done_together() -> None:
    config = replace(EARLY, planes_per_die=2, multi_plane="relaxed", multi_plane_writes=True)
    assert ran(config, [write(0, 0, pages=4)]).latencies == {0: 20 + 200 + 20}


def test_transfer__a_flush_waits_for_transfers() -> None:
    requests = [write(0, 0), flush(0), read(0, 1)]
    assert ran(EARLY, requests).latencies[2] == 10
    assert ran(TIMED, requests).latencies[2] == 210


def test_transfer__without_a_program_time__the_die_is_idle_at_once() -> None:
    assert ran(replace(EARLY, program_ns=0), [write(0, 0), write(0, 1)]).latencies == {0: 10, 1: 20}


def test_transfer__a_place_of_the_window_is_free_before_the_program_ends() -> None:
    # lpn 1 is of the other die: admitted at 10
    config = replace(EARLY, channels=2, window_pages=1)
    assert ran(config, [write(0, 0), write(0, 1)]).latencies == {0: 10, 1: 20}


def test_transfer__a_run_ends_while_a_die_programs() -> None:
    reference = ran(EARLY, [write(0, 0)])
    assert reference.export()["now"] == 10
    reference.run([read(20, 0)])
    assert reference.latencies[1] == 270 - 20


# Foreground GC that waits for empty queues


#: The ninth write opens block 4 and leaves three blocks in the pool: foreground GC is on, and urgent from the
#: thirteenth write on, which leaves one.
PATIENT = replace(
    TIMED, blocks_per_plane=8, pages_per_block=2, logical_pages=2, threshold_blocks=4, gc_start="queue_empty"
)


@pytest.mark.parametrize(("mode", "episodes"), [("barrier", 1), ("per_write", 2)])
@pytest.mark.parametrize(("priority", "read_ns"), [("first", 3790), ("after_reads", 2790)])
def test_queue_empty__writes_go_on_until_gc_is_urgent(
    priority: str, read_ns: int, mode: str, episodes: int
) -> None:
    config = replace(PATIENT, gc_mode=mode, gc_priority=priority)
    reference = ran(config, [*writes(1, *[0] * 13), read(2600, 1)])
    # the thirteenth write -2730, erase 2730-3730 before the read, or 2790-3790 behind it, write -4000
    assert [reference.latencies[k] for k in range(13)] == [210 * (k + 1) for k in range(13)]
    assert [reference.latencies[k] for k in (13, 14)] == [4000, read_ns - 2600]
    # one round is enough for mode per_write, and the next write needs another one
    assert reference.counters["gc_episodes"] == episodes


def test_queue_empty__gc_runs_when_the_queues_are_empty() -> None:
    reference = ran(PATIENT, [*writes(*[0] * 9), read(1900, 0)])
    assert reference.latencies[9] == 1890 + 1000 + 60 - 1900
    assert reference.counters["rounds"] == 1


#: Lpns 2 and 6 stay in block 0 of plane 0, in which the last write switches foreground GC on.
BETWEEN = replace(
    TIMED, planes_per_die=2, pages_per_block=4, logical_pages=16, threshold_blocks=4, gc_start="queue_empty"
)
FILLED = writes(0, 2, 4, 6, *[0, 4] * 6, 0, gap_ns=1000)


@pytest.mark.parametrize(
    ("start", "latencies"),
    [
        # move -16480, read, move -16810, write to plane 1 -17020, erase for the other write -18020
        ("queue_empty", [16540 - 16300, 17020 - 16600, 18230 - 16900]),
        # two moves and an erase -17750, read -17810, write -18020, write -18230
        ("at_once", [17810 - 16300, 18020 - 16600, 18230 - 16900]),
    ],
)
def test_queue_empty__host_commands_come_between_the_commands_of_a_round(
    start: str, latencies: list[int]
) -> None:
    requests = [*FILLED, read(16300, 0), write(16600, 1), write(16900, 0)]
    reference = ran(replace(BETWEEN, gc_start=start), requests, fifo)
    assert [reference.latencies[k] for k in (17, 18, 19)] == latencies
    assert reference.counters["relocated_pages"] == 2


def test_queue_empty__a_preemptible_round_lets_writes_in() -> None:
    # the pool of three blocks has room for a block, and for the moves: write 16480-16690 before the next one
    config = replace(BETWEEN, preemptible=True)
    assert ran(config, [*FILLED, write(16300, 0)], fifo).latencies[17] == 16690 - 16300


@pytest.mark.parametrize("timing", ["event", "none"])
def test_queue_empty__erase_sets_must_gain_pages(timing: str) -> None:
    device = Reference(replace(PATIENT, gc_mode="per_write", timing=timing)).device
    assert device.must_gain(0)


# Background rounds that are not interrupted


#: Background GC sets in with fewer than 12 of 16 pages free.
BACKGROUND = replace(TIMED, blocks_per_plane=8, pages_per_block=2, logical_pages=2, background_pages=12)


@pytest.mark.parametrize("priority", ["first", "after_reads"])
@pytest.mark.parametrize(("grain", "read_ns"), [("command", 4540), ("round", 5540)])
def test_round__goes_on_before_reads_and_writes(grain: str, read_ns: int, priority: str) -> None:
    config = replace(BACKGROUND, gc_grain=grain, gc_priority=priority)
    requests = [*writes(1, 0, 0, 0, 0, gap_ns=1000), write(4300, 0), read(4310, 1)]
    reference = ran(config, requests, fifo)
    # move of lpn 1 out of block 0: 4210-4480; with grain command read -4540, erase -5540; write -5750
    assert reference.latencies[6] == read_ns - 4310
    assert reference.latencies[5] == 5750 - 4300


def test_round__starts_after_reads_and_writes() -> None:
    config = replace(BACKGROUND, gc_grain="round")
    reference = ran(config, [*writes(0, 0, 0, 0, 0, gap_ns=1000), write(4200, 0)])
    assert reference.latencies[5] == 4420 - 4200
    reference = ran(config, [*writes(0, 0, 0, 0, 0, gap_ns=1000), read(4200, 0), read(4300, 0)])
    # read -4270, erase -5270, read
    assert [reference.latencies[k] for k in (5, 6)] == [70, 5330 - 4300]


@pytest.mark.parametrize("changes", [{"idle": "threshold", "background_pages": None}, {"preemptible": True}])
def test_round__goes_with_a_threshold_and_without_preemption_only(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="grain"):
        replace(BACKGROUND, gc_grain="round", **changes)


# Rows that are kept together


ALIGNED = replace(
    UNTIMED, planes_per_die=3, logical_pages=40, blocks_per_plane=9, pages_per_block=4, allocation="dynamic",
    placement="sep_gc", multi_plane="relaxed", multi_plane_writes=True, multi_plane_rows="aligned",
)  # fmt: skip


def with_rows(config: ReferenceConfig, *rows: int) -> Device:
    """A device whose planes have these rows in stream 0."""
    device = Device(config)
    lpns = count()
    for plane, row in enumerate(rows):
        for _ in range(row):
            device.host_program(plane, next(lpns), 1)
    return device


@pytest.mark.parametrize(
    ("rows", "cursor", "plane"),
    [
        pytest.param((2, 2, 2), 1, 1, id="as any where all are equal"),
        pytest.param((2, 1, 3), 0, 1, id="behind the first"),
        pytest.param((2, 1, 1), 0, 1, id="the first of equals"),
        pytest.param((1, 2, 1), 1, 2, id="the first from the cursor on"),
        pytest.param((4, 1, 3), 0, 2, id="row 3 is one behind row 0 of the next block"),
        pytest.param((3, 4, 3), 0, 0, id="and that is ahead"),
        pytest.param((2, 4, 2), 0, 0, id="by half a block: ahead"),
    ],
)
def test_aligned__the_plane_that_lags_most_is_written_next(
    rows: tuple[int, ...], cursor: int, plane: int
) -> None:
    device = with_rows(ALIGNED, *rows)
    device.plane_cursors[0] = cursor
    assert device.plane_with_room(0) == plane


def test_aligned__with_an_odd_number_of_pages_half_is_rounded_down() -> None:
    odd = replace(ALIGNED, pages_per_block=5)
    # 3 behind is 2 ahead, and 2 behind is the most there is
    assert with_rows(odd, 3, 5, 1).plane_with_room(0) == 2


def test_aligned__planes_without_a_row_are_passed_over_while_another_has_one() -> None:
    device = with_rows(ALIGNED, 4, 2, 2)
    device.pools[0].clear()
    assert device.plane_with_room(0) == 1
    for plane in (1, 2):
        device.pools[plane].clear()
        device.host_program(plane, 30 + plane, 1)
        device.host_program(plane, 30 + plane, 2)
    assert device.plane_with_room(0) == 0


def test_aligned__full_planes_are_passed_over() -> None:
    most = ALIGNED.max_valid_pages
    assert most % 4 == 0
    assert with_rows(ALIGNED, most, 3, 2).plane_with_room(0) == 2
