"""The reference's erase sets, isolation and placements of pages, held to cases computed by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from .. import Device, IllegalEraseSet, erase_sets
from ..blocks import Scattered, Stream
from ..helpers import SUBS, built, heat
from ..page import policies
from ..placement import place_host_page, place_relocated_page
from ..randomness import below, draw

# Neighbours, costs and best sets


#: After Figure 2(b) of SpeedupGC: sub-blocks 2 and 3 together have one valid page, and their neighbours four,
#: so that the erase moves five pages.
FIGURE_2B = ("vxxx", "xxxv", "xxxx", "vvvx", "vvvv")


def test_the_best_run_of_figure_2b() -> None:
    """An erase costs as much as three copies."""
    config = replace(
        SUBS, sub_blocks_per_block=5, pages_per_block=20, read_ns=1, program_ns=1, logical_pages=40
    )
    device = built(replace(config, erase_ns=6), FIGURE_2B)
    assert erase_sets.moves(device, 0, 0b00110) == 5
    assert erase_sets.benefit(device, 0, 0b00110) == Fraction(7, 16)
    # 0b00111: 10 pages, 1 + 1 + 0 + 3 copies; it has no neighbour below
    assert erase_sets.benefit(device, 0, 0b00111) == Fraction(10, 16)
    assert erase_sets.best_set_of_block(device, 0) == 0b00111
    # without the first sub-block's invalid pages the run of the figure is best
    device = built(replace(config, erase_ns=6), ("vvvv", "xxxv", "xxxx", "vvvx", "vvvv"))
    runs = {mask: erase_sets.benefit(device, 0, mask) for mask in erase_sets.runs(config)}
    assert runs[0b00110] == Fraction(7, 2 * 8 + 6)
    assert runs[0b01110] == Fraction(8, 2 * 12 + 6)
    assert runs[0b00100] == Fraction(4, 2 * 4 + 6)
    assert runs[0b00010] == Fraction(3, 2 * 5 + 6)
    assert erase_sets.best_set_of_block(device, 0) == 0b00110


def test_sets_are_beginnings_of_the_sub_blocks_by_invalid_pages() -> None:
    sets = replace(SUBS, erase_unit="sub_block_set", isolation="hardware")
    device = built(sets, ("vx", "xx", "vv", "xx"))
    assert erase_sets.fullest_first(device, 0) == [0b0010, 0b1010, 0b1011, 0b1111]
    # 2/2, 4/2, 5/3, 5/5
    assert erase_sets.best_set_of_block(device, 0) == 0b1010


def test_blocks_without_invalid_pages_and_blocks_that_erase_as_a_whole_have_no_best_set() -> None:
    assert erase_sets.best_set_of_block(built(SUBS, ("vv", "vv", "v.", "..")), 0) is None
    whole = replace(SUBS, erase_unit="block", placement="single")
    assert erase_sets.best_set_of_block(built(whole, ("vv", "xx", "vv", "xx")), 0) is None


def test_the_best_set_of_a_plane() -> None:
    free = replace(SUBS, isolation="none", logical_pages=20)
    rules = policies.best_set
    assert rules(built(free, ("xv", "xv", "vv", "vv"), ("vv", "vv", "xx", "vv")), 0) == [(1, 0b0100)]
    # of equals the lower lowest sub-block, then the lower block
    device = built(free, ("vv", "vv", "xx", "vv"), ("vv", "xx", "vv", "vv"), ("vv", "xx", "..", ".."))
    assert rules(device, 0) == [(1, 0b0010)]


# What is legal


@pytest.mark.parametrize("changes", [{"gc_mode": "barrier"}, {"timing": "event", "background_pages": 9}, {}])
def test_sets_must_gain_pages_only_where_rounds_are_repeated(changes: dict[str, Any]) -> None:
    device = built(replace(SUBS, **changes), ("vv", "xx", "vv", "vv"))
    reason = device.objection(0, [(0, 0b0010)])
    assert reason is None if not changes else "gain no pages" in str(reason)
    assert device.objection(0, [(0, 0b1111)]) is None  # has no neighbours
    device.pools[0].clear()  # under the floor of per_write
    with pytest.raises(IllegalEraseSet, match="gain no pages"):
        device.start_round(0, [(0, 0b0010)])
    assert device.rounds == {}


def test_where_the_best_set_gains_nothing_the_fullest_block_is_erased() -> None:
    """An erase so dear, and copies so cheap: the four copies do not show, but gain nothing."""
    config = replace(SUBS, logical_pages=20, erase_ns=1000, read_ns=1)
    blocks = ("vv", "xx", "vv", "vv"), ("vv", "vv", "vv", "xv")
    assert policies.best_set(built(config, *blocks), 0) == [(0, 0b0010)]
    assert policies.best_set(built(replace(config, gc_mode="barrier"), *blocks), 0) == [(0, 0b1111)]


def test_any_set_can_be_erased_where_the_device_says_so() -> None:
    blocks = ("xx", "vv", "xx", "vv")
    assert "cannot be erased" in str(built(SUBS, blocks).objection(0, [(0, 0b0101)]))
    sets = replace(SUBS, erase_unit="sub_block_set", gc_mode="barrier", isolation="none")
    assert built(sets, blocks).objection(0, [(0, 0b0101)]) is None
    device = built(replace(sets, isolation="software"), blocks)
    assert "gain no pages" in str(device.objection(0, [(0, 0b0101)]))


# Rounds


def test_neighbours_are_moved_and_stay_written_and_invalid() -> None:
    device = built(replace(SUBS, placement="single"), ("vv", "xv", "vv", "vv"))
    device.start_round(0, [(0, 0b0010)])
    moved = 0
    while device.move_next(0):
        moved += 1
    device.erase(0)
    # lpns 0 to 6 were written in order; 5 and 6 stay in sub-block 3
    assert moved == device.counters["relocated_pages"] == 5
    assert [device.logical[lpn].ppn for lpn in range(7)] == [8, 9, 10, 11, 12, 6, 7]
    assert device.written[:4] == [2, 0, 2, 2]
    assert [device.valid_in_sub_block(sub) for sub in range(4)] == [0, 0, 0, 2]
    assert device.erases[:4] == [0, 1, 0, 0]
    assert device.pools[0][-1] == 0 and device.buckets[0][4] == [0]


# Hot pages of the host, and relocated ones


def test_hot_pages_go_to_the_best_set_that_has_unwritten_pages() -> None:
    to_victims = replace(SUBS, placement="hot_to_victims", isolation="none", thresholds=(2, 4))
    full = ("xx", "vv", "vv", "vv")
    beside = ("xx", "vv", "v.", "v.")  # the best set is full, and better than the next block's
    inside = ("vv", "vv", "v.", "x.")
    device = built(to_victims, full, beside, inside)
    assert place_host_page(device, 0, 25) == Stream(0)
    heat(device, 25, 2)
    assert place_host_page(device, 0, 25) == Scattered(2 * 4 + 3)
    device = built(to_victims, full, beside)
    heat(device, 25, 2)
    assert place_host_page(device, 0, 25) == Scattered(1 * 4 + 2)
    device = built(to_victims, full)
    heat(device, 25, 2)
    assert place_host_page(device, 0, 25) == Stream(0)
    assert place_relocated_page(device, 0, 25, 0) == Stream(0)


def test_a_scattered_page_enters_its_block_into_the_index_and_the_last_closes_it() -> None:
    device = built(replace(SUBS, placement="hot_to_victims", isolation="none"), ("xx", "vv", "vv", "v."))
    heat(device, 25, 3)
    device.clock = 9
    device.host_program(0, 25, device.accept_write(25))
    assert device.logical[25].ppn == 7
    assert 0 not in device.pools[0] and device.closed_at[0] == 9 and device.ages[0] == [0]
    assert device.counters["hot_pages_written"] == 1


def grouped(device: Device, *groups: set[int]) -> None:
    device.groups[0].groups = [set(group) for group in groups]


def test_hot_pages_go_to_the_blocks_of_their_group() -> None:
    config = replace(SUBS, isolation="none", thresholds=(2, 4, 6), blocks_per_plane=8)
    beside, inside = ("xx", "vv", "v.", ".."), ("vv", "vv", "v.", "x.")
    device = built(config, ("vv", "vv", "vv", "xx"), beside, inside)
    heat(device, 25, 4)  # hotness group 2
    grouped(device, {3, 4, 5}, {0, 1, 2}, {6, 7})
    assert place_host_page(device, 0, 25) == place_relocated_page(device, 0, 25, 3) == Scattered(2 * 4 + 3)
    grouped(device, {2, 3, 4}, {0, 1}, {5, 6, 7})
    assert place_host_page(device, 0, 25) == Scattered(1 * 4 + 2)
    # no block of the group can be written: above before below, and there any block with unwritten pages
    grouped(device, {3, 4, 5}, {0}, {1, 2, 6, 7})
    assert place_host_page(device, 0, 25) == Scattered(1 * 4 + 2)
    grouped(device, {1, 2, 3, 4, 5, 6, 7}, {0}, set())
    assert place_host_page(device, 0, 25) == Scattered(1 * 4 + 2)


@pytest.mark.parametrize("host", [True, False])
def test_cold_pages_go_to_a_random_block_of_the_pool(host: bool) -> None:
    device = built(replace(SUBS, seed=5), ("vv", "vv", "vv", "vx"), ("vv", "v.", "..", ".."))
    device.clock, device.rounds_started = 17, 3
    page = 6  # of block 0, by its number within the block

    def drawn(k: int) -> int:
        bits = draw(5, 4, 17, k) if host else draw(5, 5, 3, 65 * page + k)
        return below(8, bits)

    block = next(drawn(k) for k in range(64) if drawn(k) in device.pools[0])
    place = place_host_page(device, 0, 29) if host else place_relocated_page(device, 0, 29, page)
    assert place == Scattered(device.writable_sub_blocks(block)[0])


def test_cold_pages_search_upwards_from_one_more_draw_if_none_was_in_the_pool() -> None:
    device = built(replace(SUBS, blocks_per_plane=300, seed=1))
    device.clock = 2
    drawn = [below(300, draw(1, 4, 2, k)) for k in range(65)]
    missed = sorted(set(range(300)) - set(drawn))
    above = next(block for block in missed if block > drawn[64])
    device.pools[0].clear()
    device.pools[0].extend([missed[0], above])
    assert missed[0] < drawn[64]
    assert place_host_page(device, 0, 29) == Scattered(above * 4)
    device.pools[0].remove(above)
    assert place_host_page(device, 0, 29) == Scattered(missed[0] * 4)


# Block groups of a device


def test_ranks_are_benefits_or_under_hardware_isolation_invalid_sub_blocks() -> None:
    blocks = ("xx", "xv", "xx", "x.")
    soft = built(replace(SUBS, isolation="none"), blocks)
    assert erase_sets.rank(soft, 0) == Fraction(6, 3)  # all four for one copy
    hard = built(replace(SUBS, isolation="hardware", erase_unit="sub_block_set"), blocks)
    assert erase_sets.rank(hard, 0) == 2
    assert erase_sets.rank(soft, 7) == erase_sets.rank(hard, 7) == 0


def test_blocks_are_classified_again_by_every_page_but_not_while_they_are_collected() -> None:
    device = built(replace(SUBS, isolation="none"), ("vv", "vv", "vv", "vx"), ("vv", "vv", "vv", "vv"))
    groups = device.groups[0]
    assert groups.standing[0][0] == Fraction(1, 3)
    device.trim(0)
    assert groups.standing[0][0] == Fraction(1, 3) and groups.standing[1][0] == 0
    device.trim(1)
    assert groups.standing[0][0] == 1
    device.start_round(0, [(0, 0b0001)])
    device.trim(2)
    assert groups.standing[0][0] == 1
    device.trim(7)
    assert groups.standing[1][0] == Fraction(1, 3)
    device.erase(0)
    assert groups.standing[0][0] == Fraction(2, 2 + 4)
