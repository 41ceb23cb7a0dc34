"""What planes and dies of the reference do at once, held to cases computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..blocks import Stream
from ..erase_sets import benefit
from ..helpers import TIMED, UNTIMED, chosen, plane_of, ran, read, write, writes
from ..page.policies import greedy
from ..placement import place_relocated_page

# tR 50, tPROG 200, tBERS 1000, tX 10: a lone read takes 60 ns, a write 210 ns, a move 270 ns.


# Erases and moves


def test_two_blocks_erased_together_take_one_erase_time() -> None:
    config = replace(TIMED, blocks_per_plane=5, pages_per_block=2, logical_pages=4)
    requests = [*writes(0, 1, 2, 3, 0, 2, 0, gap_ns=1000), read(6300, 3)]
    reference = ran(config, requests, chosen([(0, 1), (1, 1)]))
    # write 6000-6210, moves of lpn 1 -6480 and lpn 3 -6750, erase -7750, read -7810
    assert reference.latencies[7] == 7810 - 6300
    assert (reference.counters["rounds"], reference.counters["erases"]) == (1, 2)
    assert reference.export()["pool"] == [[0, 1]]


#: Lpns 0, 2, 4, 6 are of plane 0, the others of plane 1. Moves have a stream of their own; block 0 of each
#: plane holds one valid page, in its second page, when the last write leaves three blocks in the pool.
SIBLINGS = replace(
    TIMED,
    planes_per_die=2,
    multi_plane="strict",
    placement="sep_gc",
    pages_per_block=2,
    logical_pages=8,
    threshold_blocks=4,
    gc_mode="per_write",
)
SIBLING_WRITES = writes(*(1, 3, 5, 7, 1, 5, 1, 5), *(0, 2, 4, 6, 0, 4, 0, 4, 0), gap_ns=1000)


@pytest.mark.parametrize(("copyback", "move_ns"), [(False, 50 + 2 * 2 * 10 + 200), (True, 50 + 200)])
def test_joined_moves_are_one_command(copyback: bool, move_ns: int) -> None:
    config = replace(SIBLINGS, copyback=copyback)
    reference = ran(config, [*SIBLING_WRITES, read(16300, 0)], chosen([(0, 1), (8, 1)]))
    assert reference.latencies[17] == 16210 + move_ns + 1000 + 60 - 16300
    c = reference.counters
    assert (c["relocated_pages"], c["joined_moves"], c["erases"]) == (2, 1, 2)
    assert [reference.export()["logical_ppn"][lpn] for lpn in (2, 3)] == [10, 24]  # blocks 5 and 12


def test_copyback_leaves_the_channel_to_others() -> None:
    config = replace(
        TIMED, blocks_per_plane=5, pages_per_block=2, chips_per_channel=2, logical_pages=8, copyback=True
    )
    fill = [write(1000 * i, 2 * lpn) for i, lpn in enumerate((0, 1, 2, 3, 0, 2, 0))]  # all on die 0
    # the move of die 0 would transfer 6260-6280; die 1 asks at 6261
    assert ran(config, [*fill, write(6261, 1)]).latencies[7] == 210
    # move 6210-6460, erase -7460, read -7520
    assert ran(config, [*fill, read(6300, 6)]).latencies[7] == 7520 - 6300


def test_the_benefit_counts_no_transfers_under_copyback() -> None:
    device = ran(replace(UNTIMED, copyback=True), writes(0, 1, 2, 3, 0, 4)).device
    assert benefit(device, 0, 1).as_integer_ratio() == (1, 3 * 250 + 1000)


# Rounds are atomic in all their planes


#: Background GC sets in with fewer than 12 of 16 pages free.
BACKGROUND = replace(
    TIMED, planes_per_die=2, multi_plane="relaxed", pages_per_block=2, logical_pages=4, background_pages=12
)


def test_a_write_drives_the_round_that_another_plane_leads_to_its_end() -> None:
    requests = [*writes(3, 1, 1, 2, 0, 0, 0, 0, gap_ns=1000), write(7300, 1), read(7310, 2)]
    reference = ran(BACKGROUND, requests, chosen([(0, 1), (8, 1)]))
    # lpns 2 and 3, both of pages 0 and to pages 1, 7210-7500; read -7560; erase -8560; write -8770
    assert reference.counters["joined_moves"] == 1
    assert reference.latencies[9] == 7560 - 7310
    assert reference.latencies[8] == 8770 - 7300


# Writes to several planes


FOUR = replace(
    TIMED,
    planes_per_die=4,
    multi_plane="relaxed",
    multi_plane_writes=True,
    logical_pages=48,
    allocation="dynamic",
)


@pytest.mark.parametrize(
    ("allocation", "planes"),
    [
        ("static", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("dynamic", [0, 1, 2, 3, 1, 2, 3, 0]),  # the cursor is behind the plane bound: 0, then 1
        ("late", [0, 1, 2, 3, 1, 2, 3, 0]),
    ],
)
def test_writes_to_equal_rows_of_several_planes_are_one_command(allocation: str, planes: list[int]) -> None:
    reference = ran(replace(FOUR, allocation=allocation), [write(0, 0, pages=8)])
    # the pages come together: 4 of them, then 4 to the next row
    assert reference.latencies == {0: (40 + 200) + (40 + 200)}
    assert reference.counters["joined_writes"] == 3 + 3
    assert [plane_of(reference, lpn) for lpn in range(8)] == planes


def test_pages_of_one_command_are_done_together() -> None:
    reference = ran(FOUR, [write(0, 0), *(write(1, lpn) for lpn in (1, 2))])
    assert reference.latencies == {0: 210, 1: 210 + 220 - 1, 2: 210 + 220 - 1}


def test_without_multi_plane_writes_every_page_is_a_command() -> None:
    reference = ran(replace(FOUR, multi_plane_writes=False), [write(0, 0, pages=8)])
    assert reference.latencies == {0: 8 * 210} and reference.counters["joined_writes"] == 0


def test_the_first_write_that_cannot_join_ends_the_command() -> None:
    reference = ran(replace(FOUR, allocation="static"), [write(0, 0), *(write(1, lpn) for lpn in (5, 9, 6))])
    # lpns 5 and 9 are of plane 1, 6 of plane 2, and waits behind 9, whose row is another then
    assert reference.latencies == {0: 210, 1: 419, 2: 629, 3: 839}


def test_pages_of_hot_and_cold_streams_join_by_the_rows_of_their_streams() -> None:
    config = replace(FOUR, planes_per_die=2, placement="hot_cold", logical_pages=16, thresholds=(1, 2))
    # cold lpn 0 in plane 0; then cold lpn 1 in plane 1 and hot lpn 0 in plane 0, all in rows 0
    reference = ran(config, [write(0, 0), write(1, 1), write(1, 0)])
    assert reference.latencies == {0: 210, 1: 429, 2: 429}
    assert [plane_of(reference, lpn) for lpn in range(2)] == [0, 1]
    # hot lpn 0 in plane 1 by the cursor, row 0; cold lpn 1 could join in plane 0, but in row 1
    reference = ran(config, [write(0, 0), write(1, 0), write(1, 1)])
    assert reference.latencies == {0: 210, 1: 419, 2: 629}
    assert [plane_of(reference, lpn) for lpn in range(2)] == [1, 0]


# Late binding


TWO_DIES = replace(TIMED, channels=2, logical_pages=32)


@pytest.mark.parametrize(("allocation", "ended_ns", "plane"), [("dynamic", 1020, 0), ("late", 420, 1)])
def test_late_binding_takes_the_idle_die_where_a_write_bound_on_arrival_waits(
    allocation: str, ended_ns: int, plane: int
) -> None:
    requests = [write(0, 0), write(0, 1), write(1, 2), *[read(2, 0)] * 10]
    reference = ran(replace(TWO_DIES, allocation=allocation), requests)
    # both dies write until 210; then die 0, to which lpn 2 was bound as the cursor's, reads until 810
    assert reference.latencies[2] == ended_ns - 1
    assert plane_of(reference, 2) == plane


@pytest.mark.parametrize("timing", ["none", "event"])
def test_late_binding_takes_idle_dies_in_turn(timing: str) -> None:
    config = replace(TWO_DIES, allocation="late", timing=timing)
    reference = ran(config, writes(7, 8, 9, 10, gap_ns=1000))
    assert [plane_of(reference, lpn) for lpn in (7, 8, 9, 10)] == [0, 1, 0, 1]
    assert reference.export()["die_cursor"] == 0


def test_a_die_that_ends_its_command_takes_the_next_write_and_the_cursor_stays() -> None:
    reference = ran(replace(TWO_DIES, allocation="late"), [write(0, 0), write(5, 1), write(6, 2)])
    # die 0 ends at 210, die 1 at 215
    assert plane_of(reference, 2) == 0 and reference.latencies[2] == 420 - 6
    assert reference.export()["die_cursor"] == 0


#: V_max is (5 - 2 - 1) * 2 = 4. Seven writes leave die 0 with four valid pages, die 1 with three.
FULL_DIE = replace(TWO_DIES, allocation="late", blocks_per_plane=5, pages_per_block=2, logical_pages=7)


def test_dies_without_room_are_passed_over() -> None:
    reference = ran(FULL_DIE, writes(0, 1, 2, 3, 4, 5, 6, 1, 0, gap_ns=1000))
    assert plane_of(reference, 0) == 1
    assert [reference.device.valid_in_plane(plane) for plane in (0, 1)] == [3, 4]
    assert reference.export()["die_cursor"] == 0


def test_a_die_without_room_leaves_the_write() -> None:
    fill = writes(0, 1, 2, 3, 4, 5, 6, gap_ns=1000)
    reference = ran(FULL_DIE, [*fill, write(7000, 1), read(7000, 0), write(7001, 0)])
    # die 0 reads until 7060, die 1 writes until 7210
    assert reference.latencies[9] == 7420 - 7001
    assert plane_of(reference, 0) == 1


# Hot and cold pages


HOT_COLD = replace(UNTIMED, placement="hot_cold", logical_pages=16, thresholds=(2, 4))


def test_hot_pages_have_a_stream_of_their_own_by_the_degree_before_they_are_counted() -> None:
    assert HOT_COLD.max_valid_pages == (8 - 2 - 2) * 4
    reference = ran(HOT_COLD, writes(5, 5))
    assert reference.export()["open"] == [[0, -1]] and reference.counters["hot_pages_written"] == 0
    reference = ran(HOT_COLD, writes(5, 5, 5))
    assert reference.export()["open"] == [[0, 1]] and reference.counters["hot_pages_written"] == 1
    assert reference.export()["logical_ppn"][5] == 4
    assert place_relocated_page(reference.device, 0, 5, 4) == Stream(1)
    assert place_relocated_page(reference.device, 0, 6, 4) == Stream(0)


def test_relocated_pages_go_by_the_degree_they_have() -> None:
    """Page 0 is written twice, cold, and is hot when its block is collected."""
    reference = ran(replace(HOT_COLD, logical_pages=8), writes(0, 0, 1, 2), greedy)
    device = reference.device
    device.start_round(0, [(0, 1)])
    while device.move_next(0):
        pass
    assert [device.logical[lpn].ppn for lpn in (0, 1, 2)] == [4, 8, 9]
