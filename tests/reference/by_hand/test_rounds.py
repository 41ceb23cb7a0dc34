"""Erase sets of several blocks and planes in the reference, held to cases computed by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from .. import Device, ReferenceConfig
from ..blocks import OpenBlock
from ..erase_sets import Pair
from ..page.policies import greedy, ippbe, parallel_gc

#: One die of two planes, each of eight blocks of four pages.
PLANES = ReferenceConfig(
    planes_per_die=2, multi_plane="relaxed", logical_pages=36, threshold_blocks=2, gc_mode="per_write"
)


def filled(config: ReferenceConfig, blocks: dict[int, str], open_blocks: Sequence[int] = ()) -> Device:
    """Blocks that hold these pages: v valid, x invalid, . unwritten; each sub-block from its first page on.

    They are in the index and, if they have unwritten pages, at the tail of the pool; those of `open_blocks`
    are in neither and open for stream 0 of their planes.
    """
    device = Device(config)
    lpn = 0
    for block, pages in blocks.items():
        plane = device.plane_of_block(block)
        device.pools[plane].remove(block)
        first = block * config.pages_per_block
        for ppn, page in enumerate(pages, start=first):
            if page == ".":
                continue
            device.written[ppn // config.pages_per_sub_block] += 1
            device.physical[ppn] = (lpn, 1 if page == "v" else 0)
            if page == "v":
                device.logical[lpn].ppn = ppn
                device.logical[lpn].version = device.logical[lpn].accepted = 1
                lpn += 1
        if block in open_blocks:
            device.open[plane, 0] = OpenBlock(block, first // config.pages_per_sub_block)
            continue
        device.enter_index(block)
        if device.free_in_block(block):
            device.pools[plane].append(block)
    return device


def run_round(device: Device, plane: int, pairs: list[Pair]) -> list[int]:
    """The pages of each move of the round, to its erase."""
    device.start_round(plane, pairs)
    moved = []
    while pages := device.move_next(plane):
        moved.append(pages)
    device.erase(plane)
    return moved


# What is legal


def test_moves_of_a_plane_are_at_most_a_block_or_leave_a_block_of_the_pool() -> None:
    config = replace(PLANES, logical_pages=36, blocks_per_plane=9)
    blocks = {0: "vvvx", 1: "vvvx", 2: "vvvx", 9: "vvvx"}
    device = filled(config, blocks)
    three = [(0, 1), (1, 1), (2, 1)]

    def pool(*free: int) -> None:
        device.pools[0] = deque(free)

    pool(3, 4, 5, 6)  # 16 pages, of which 12 may be moved: 9
    assert device.objection(0, three) is None
    pool(3, 4, 5)  # 12 pages, of which 8 may be moved
    assert "9 moves are too many for the 12 pages of the pool of plane 0" in str(device.objection(0, three))
    assert device.objection(0, three[:2]) is None
    pool(3, 4)  # 8 pages: 4 or a block
    assert "6 moves are too many" in str(device.objection(0, three[:2]))
    assert device.objection(0, [(0, 1), (9, 1)]) is None  # three in each plane
    pool()
    assert device.objection(0, [(0, 1)]) is None


# Rounds


def test_pairs_of_one_plane_are_moved_and_erased_in_the_order_of_the_set() -> None:
    device = filled(PLANES, {0: "xvvx", 1: "vxxx"})  # lpns 0, 1 and 2
    assert run_round(device, 0, [(1, 1), (0, 1)]) == [1, 1, 1]
    assert [device.logical[lpn].ppn for lpn in (2, 0, 1)] == [8, 9, 10]  # block 2
    assert list(device.pools[0]) == [3, 4, 5, 6, 7, 1, 0]
    assert device.erases[:3] == [1, 1, 0]
    c = device.counters
    assert (c["rounds"], c["erases"], c["erased_sub_blocks"], c["relocated_pages"]) == (1, 2, 2, 3)
    assert (c["victim_valid_pages"], c["max_victim_valid_pages"], c["joined_moves"]) == (3, 2, 0)


def test_moves_join_that_read_and_program_equal_page_numbers() -> None:
    device = filled(PLANES, {0: "xvvx", 8: "xvxv"})  # lpns 0, 1 and 2, 3
    # page 1 of both to page 0 of both; then page 2 alone, as plane 1 goes on with page 3; that alone, too
    assert run_round(device, 0, [(0, 1), (8, 1)]) == [2, 1, 1]
    assert [device.logical[lpn].ppn for lpn in range(4)] == [4, 5, 36, 37]  # blocks 1 and 9
    c = device.counters
    assert (c["relocated_pages"], c["joined_moves"], c["flash_reads"]) == (4, 1, 4)
    assert list(device.pools[1]) == [10, 11, 12, 13, 14, 15, 8]


def test_the_lowest_page_number_is_moved_first_and_of_equals_the_lowest_plane() -> None:
    device = filled(PLANES, {0: "xxxv", 8: "vxxv", 1: "v...", 2: "v..."}, open_blocks=[1])
    device.start_round(0, [(0, 1), (8, 1)])
    assert device.move_next(1) == 1  # page 0 of plane 1
    assert device.logical[1].ppn == 36
    assert device.move_next(0) == 2  # page 3 of both, to page 1 of both
    assert device.logical[0].ppn == 5 and device.logical[2].ppn == 37
    assert device.move_next(0) == 0


# Policies


def test_parallel_gc_takes_the_same_block_of_every_plane_where_that_is_legal() -> None:
    config = replace(PLANES, planes_per_die=4, multi_plane="strict", logical_pages=70)
    device = filled(config, {0: "xvvv", 1: "xxvv", 9: "xvvv", 16: "xxxx", 17: "vvvv", 25: "vvvx"})
    assert parallel_gc(device, 0) == [(1, 1), (9, 1), (25, 1)]  # 17 has no invalid page
    assert parallel_gc(device, 2) == [(16, 1), (0, 1)]
    assert parallel_gc(filled(replace(config, multi_plane="none"), {0: "xvvv", 8: "xvvv"}), 0) == [(0, 1)]


#: Planes with room for all these moves.
LARGE = replace(PLANES, blocks_per_plane=20)
BLOCKS = {0: "xvvv", 1: "xxvv", 2: "xxxv", 3: "xxvv", 20: "xxvv", 21: "xxxv", 24: "xxxx"}


@pytest.mark.parametrize(
    ("mode", "limit", "tau", "pairs"),
    [
        ("none", 1, 1.0, [2]),
        ("none", 3, 1.0, [2, 1, 3]),
        ("none", 3, 0.5, [2]),  # 1 and 3 hold 2 valid pages, not fewer than 2
        ("none", 9, 0.75, [2, 1, 3]),
        ("none", 9, 0.76, [2, 1, 3, 0]),
        ("relaxed", 1, 0.6, [2, 24]),
        ("relaxed", 3, 0.6, [2, 1, 3, 24, 21, 20]),
        ("strict", 3, 0.6, [2, 1, 3, 21]),  # blocks 1, 2 and 3: 21 is number 1 of its plane
        ("strict", 1, 0.6, [2]),
    ],
)
def test_ippbe_takes_the_fullest_blocks_with_few_valid_pages(
    mode: str, limit: int, tau: float, pairs: list[int]
) -> None:
    device = filled(replace(LARGE, multi_plane=mode), BLOCKS)
    assert ippbe(limit, tau)(device, 0) == [(block, 1) for block in pairs]


def test_ippbe_stops_at_the_first_block_that_there_is_no_room_for() -> None:
    device = filled(LARGE, BLOCKS)
    device.pools[0] = deque([6, 7])  # a block's worth of moves: 1 + 2, and 2 more are too many
    assert ippbe(3, 1.0)(device, 0)[:2] == [(2, 1), (1, 1)]
    assert 3 not in [block for block, _ in ippbe(3, 1.0)(device, 0)]


SUBS: dict[str, Any] = {"sub_blocks_per_block": 2, "erase_unit": "sub_block_set", "isolation": "software"}


def test_ippbe_takes_one_sub_block_of_a_block_and_of_equals_the_lowest() -> None:
    device = filled(
        replace(PLANES, **SUBS, multi_plane="relaxed"), {3: "xxxx", 1: "vvxx", 0: "xvxx", 8: "vxxx"}
    )
    assert ippbe(2, 0.5)(device, 0) == [(0, 0b10), (1, 0b10), (8, 0b10)]
    assert ippbe(3, 0.5)(device, 0) == [(0, 0b10), (1, 0b10), (3, 0b01), (8, 0b10)]


def test_ippbe_takes_the_fullest_block_alone_where_the_first_sub_block_gains_nothing() -> None:
    config = replace(PLANES, **SUBS, gc_mode="barrier")
    device = filled(config, {0: "xxvv", 1: "xvxv", 8: "xxxx"})
    assert ippbe(3, 0.6)(device, 0) == [(0, 0b11)] == greedy(device, 0)


def test_ippbe_passes_over_siblings_with_a_running_round() -> None:
    device = filled(LARGE, BLOCKS)
    device.start_round(1, [(24, 1)])
    assert ippbe(1, 0.6)(device, 0) == [(2, 1)]
