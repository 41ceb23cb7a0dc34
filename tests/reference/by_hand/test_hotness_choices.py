"""What the hotness table counts, and how cold pages are scattered: the reference, by hand."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from fractions import Fraction

import pytest

from .. import Device, Reference, ReferenceConfig
from ..blocks import Scattered, Stream
from ..helpers import SUBS, UNTIMED, built, heat, ran, trim, write, writes
from ..page.policies import greedy
from ..page.preconditioning import until_gc_greedy
from ..page.speedupgc import BlockGroups, HotnessTable
from ..placement import place_host_page, place_relocated_page

# First writes


#: Hot from the second counted write on.
BY_UPDATES = replace(UNTIMED, placement="hot_cold", thresholds=(1, 2), blocks_per_plane=12)


def streams_of(config: ReferenceConfig, *lpns: int | str) -> list[int]:
    """Where each page went; a text is a trim."""
    reference = Reference(config, greedy)
    found = []
    for lpn in lpns:
        reference.run([write(0, lpn)] if isinstance(lpn, int) else [trim(0, int(lpn))])
        if isinstance(lpn, int):
            block = reference.device.block_of_page(reference.device.logical[lpn].ppn)
            found += [stream for (_, stream), place in reference.device.open.items() if place.block == block]
    return found


def test_hot_cold__all_writes_count_or_updates_only() -> None:
    assert streams_of(BY_UPDATES, 0, 0, 0) == [0, 1, 1]
    assert streams_of(replace(BY_UPDATES, hotness_counts="updates"), 0, 0, 0) == [0, 0, 1]


def test_hot_cold__a_page_that_was_trimmed_is_written_first_again() -> None:
    config = replace(BY_UPDATES, hotness_counts="updates", pages_per_block=6)
    assert streams_of(config, 0, 0, 0, "0", 0, 0) == [0, 0, 1, 0, 1]


def test_first_writes__are_not_in_the_table_and_not_hot() -> None:
    reference = ran(replace(BY_UPDATES, hotness_counts="updates", decay_period=3), writes(0, 1, 2, 3))
    assert reference.device.hotness is not None
    assert reference.device.hotness.updates == 0
    assert not any(map(any, reference.device.hotness.rows))
    # two updates of page 0, the second of them hot; the third update, of page 1, halves all counters
    reference.run(writes(0, 0, 1))
    assert reference.device.hotness.degree(0) == 1
    assert reference.counters["hot_pages_written"] == 1


def test_hot_to_victims__a_first_write_goes_to_the_stream_however_hot() -> None:
    config = replace(SUBS, placement="hot_to_victims", thresholds=(1, 2))
    device = built(config, ("xx", "xx", "vv", ".."))
    heat(device, 29, 3)
    assert isinstance(place_host_page(device, 0, 29), Scattered)
    assert place_host_page(device, 0, 29, is_first=True) == Stream(0)


@pytest.mark.parametrize("scatter", ["page", "block"])
def test_hotness_groups__a_first_write_goes_to_the_open_block(scatter: str) -> None:
    config = replace(SUBS, hotness_counts="updates", hotness_scatter=scatter, seed=3)
    device = Device(config)
    place = place_host_page(device, 0, 7, is_first=True)
    assert isinstance(place, Stream) and place.opens is not None
    # the block to which a cold page would be scattered
    by_page = Device(replace(config, hotness_scatter="page"))
    assert place_host_page(by_page, 0, 7) == Scattered(4 * place.opens)


def test_hotness_groups__updates_are_scattered_page_by_page_beside_the_open_block() -> None:
    device = Device(replace(SUBS, hotness_counts="updates", thresholds=(9, 10), seed=3))
    for version in range(1, 5):
        device.host_program(0, 7, version)
    opened = device.open[0, 0].block
    assert device.physical[8 * opened] == (7, 1)
    assert device.written_in_block(opened) == 1 and sum(device.written) == 4


# Cold pages that stay with a block


BLOCKWISE = replace(SUBS, hotness_scatter="block", thresholds=(9, 10), seed=3)


def test_block__cold_pages_fill_the_block_that_was_drawn_for_the_first_of_them() -> None:
    device = Device(BLOCKWISE)
    drawn = place_host_page(Device(replace(BLOCKWISE, hotness_scatter="page")), 0, 0)
    assert isinstance(drawn, Scattered)
    block = drawn.sub_block // 4
    for lpn in range(7):
        device.host_program(0, lpn, 1)
        assert device.open[0, 0].block == block
        assert block not in device.pools[0] and not device.is_indexed(block)
    device.host_program(0, 7, 1)
    assert device.open == {} and device.is_indexed(block) and device.closed_at[block] == 7
    assert [device.logical[lpn].ppn for lpn in range(8)] == list(range(8 * block, 8 * block + 8))


def test_block__relocated_pages_go_to_the_same_block() -> None:
    device = Device(BLOCKWISE)
    device.host_program(0, 0, 1)
    assert place_relocated_page(device, 0, 5, 0) == Stream(0)


def test_block__a_block_in_part_written_is_filled_from_its_lowest_sub_block_on() -> None:
    full = ("vv", "vv", "vv", "vv")
    device = built(replace(BLOCKWISE, logical_pages=40), full, ("vv", "..", "vx", ".."))
    device.pools[0] = deque([1])
    for lpn, ppn in ((30, 8 + 2), (31, 8 + 3), (32, 8 + 6)):
        device.host_program(0, lpn, 1)
        assert device.logical[lpn].ppn == ppn
    assert device.open[0, 0].block == 1


def test_block__an_open_block_has_rank_zero_and_is_ranked_again_when_it_is_closed() -> None:
    device = built(BLOCKWISE, ("xx", "xx", "xx", ".."))
    device.pools[0] = deque([0])
    groups = device.groups[0]
    # six pages won in one erase time of 2
    assert groups.standing[0][0] == 3 and groups.group_of(0) == 2
    device.host_program(0, 20, 1)
    assert groups.standing[0][0] == 0 and groups.group_of(0) == 1
    device.host_program(0, 20, 2)
    # full, with the first page of 20 invalid: of the three sub-blocks without the other one nothing is moved
    assert groups.standing[0][0] > 0 and groups.group_of(0) == 2


def test_block__closed_by_a_page_dead_at_birth__is_ranked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(BLOCKWISE)
    for lpn in range(7):
        device.host_program(0, lpn, 1)
    overtaken = device.accept_write(7)
    device.trim(7)
    ranks = []
    monkeypatch.setattr(device.groups[0], "reclassify", lambda block, *rank: ranks.append(rank))
    device.host_program(0, 7, overtaken)
    # of its sub-block, the last one, the other page is moved, and so are the two of the neighbour
    assert device.open == {} and ranks == [(Fraction(1, 3 + 2), 0b1000)]


def test_block__hot_pages_are_scattered() -> None:
    device = Device(replace(BLOCKWISE, thresholds=(1, 2)))
    assert isinstance(place_relocated_page(device, 0, 3, 0), Stream)
    heat(device, 3, 1)
    assert isinstance(place_relocated_page(device, 0, 3, 0), Scattered)
    assert isinstance(place_host_page(device, 0, 3), Scattered)


def test_block__moves_have_no_row_and_join_nothing() -> None:
    device = Device(BLOCKWISE)
    device.host_program(0, 0, 1)
    assert device.row(0, Stream(0)) is None


# Counters in proportion to the device


@pytest.mark.parametrize(("pages_per_counter", "counters"), [(1, 30), (4, 8), (7, 5), (100, 1)])
def test_pages_per_counter__rows_are_as_long_as_the_device_asks_for(
    pages_per_counter: int, counters: int
) -> None:
    table = HotnessTable(replace(SUBS, pages_per_counter=pages_per_counter, hashes=2))
    assert [len(row) for row in table.rows] == [counters, counters]
    for _ in range(counters - 1):
        table.count_update(0)
    before = table.degree(0)
    table.count_update(0)  # which ends the period
    assert table.degree(0) == (min(before, 15) + (before < 15)) // 2


# From one stream to block groups


def test_deal__blocks_in_the_order_of_rank_into_groups_of_about_the_same_length() -> None:
    groups = BlockGroups(range(8), 3, 3)
    device = built(SUBS, ("xx", "vv", "vv", "vv"), ("xx", "xx", "vv", "vv"), ("vv", "vv", "vv", "vv"))
    groups.deal({block: device.rank_and_mask(block) for block in range(8)})
    # without invalid pages the higher block is the smaller one: 7 6 5 | 4 3 2 | 0 1
    assert groups.groups == [{5, 6, 7}, {2, 3, 4}, {0, 1}]


def test_adopt__the_open_block_goes_back_to_the_pool_and_all_are_ranked() -> None:
    device = Device(replace(SUBS, thresholds=(1, 2)))
    device.place_by("single")
    for version in range(1, 4):
        device.host_program(0, 7, version)
    assert device.open[0, 0].block == 0 and device.groups == []
    device.adopt()
    assert device.open == {} and list(device.pools[0]) == [1, 2, 3, 4, 5, 6, 7, 0]
    assert device.ages[0] == [0] and device.buckets[0][2] == [0]
    assert device.groups[0].groups == [{4, 5, 6, 7}, {0, 1, 2, 3}]
    assert device.hotness is not None and device.hotness.updates == 0


def test_until_gc_greedy__all_pages_go_to_one_stream_until_all_planes_have_collected() -> None:
    config = replace(UNTIMED, placement="sep_gc", channels=2, logical_pages=24, threshold_blocks=2)
    reference = Reference(config, greedy)
    until_gc_greedy(reference, seed=1)
    assert set(reference.device.open) <= {(0, 0), (1, 0)}
    assert all(any(reference.device.erases[8 * plane : 8 * plane + 8]) for plane in (0, 1))
    assert set(reference.counters.values()) == {0}
    reference.run(writes(*range(24), *range(24)))
    assert {stream for _, stream in reference.device.open} == {0, 1}
