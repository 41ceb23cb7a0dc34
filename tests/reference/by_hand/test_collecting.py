"""The reference, held to small cases computed by hand: when garbage is collected, and what is erased."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .. import Device, IllegalEraseSet, Reference
from ..blocks import OpenBlock, Stream
from ..helpers import TIMED, UNTIMED, chosen, ran, read, write, writes
from ..page.policies import fifo, greedy
from ..placement import where_there_is_room

# When garbage is collected


def test_the_floor_alone_keeps_two_blocks_in_the_pool() -> None:
    config = replace(
        UNTIMED,
        threshold_blocks=None,
        threshold_pages=0,
        blocks_per_plane=8,
        pages_per_block=2,
        logical_pages=2,
    )
    reference = Reference(config, greedy)
    reference.run(writes(*[0] * 12))
    assert reference.export()["pool"] == [[6, 7]] and reference.counters["rounds"] == 0
    reference.run(writes(0))
    assert reference.export()["pool"] == [[7, 0]]
    assert reference.counters["rounds"] == reference.counters["gc_episodes"] == 1


@pytest.mark.parametrize("placement, blocks", [("sep_gc", 2), ("midas", 2), ("sepbit", 3), ("fadac", 3)])
def test_the_floor_is_a_block_higher_with_several_streams_of_relocated_pages(
    placement: str, blocks: int
) -> None:
    assert replace(UNTIMED, placement=placement, blocks_per_plane=24).floor == blocks


@pytest.mark.parametrize(
    "free_blocks, open_streams, taken",
    [(2, [1, 4], 3), (1, [1, 4, 5], 4), (1, [0, 1], 1), (1, [], 3), (1, [3, 4], 3)],
    ids=["no need", "the next higher", "the next lower", "the last block", "its own"],
)
def test_down_to_the_last_block_relocated_pages_share_what_is_open(
    free_blocks: int, open_streams: list[int], taken: int
) -> None:
    device = Device(replace(UNTIMED, placement="dac", blocks_per_plane=12, logical_pages=4))
    for block, stream in enumerate(open_streams):
        device.open[0, stream] = OpenBlock(block, block)
    while len(device.pools[0]) > free_blocks:
        device.pools[0].popleft()
    assert where_there_is_room(device, 0, Stream(3)) == Stream(taken)


@pytest.mark.parametrize("mode", ["barrier", "per_write"])
def test_an_episode_ends_at_the_threshold_or_after_one_round(mode: str) -> None:
    config = replace(
        UNTIMED,
        threshold_blocks=4,
        gc_mode=mode,
        blocks_per_plane=8,
        pages_per_block=2,
        logical_pages=2,
    )
    assert ran(config, writes(*[0] * 8)).counters["rounds"] == 0
    reference = ran(config, writes(*[0] * 9))  # opens block 4, which leaves three in the pool
    assert reference.counters["rounds"] == 1
    assert reference.counters["gc_episodes"] == 1
    assert len(reference.export()["pool"][0]) == 4


def test_a_threshold_in_pages_counts_pages_of_open_blocks_too() -> None:
    config = replace(
        UNTIMED,
        threshold_blocks=None,
        threshold_pages=20,
        blocks_per_plane=8,
        pages_per_block=4,
        logical_pages=4,
    )
    assert ran(config, writes(*[0] * 12)).counters["rounds"] == 0  # 20 pages free
    reference = ran(config, writes(*[0] * 13))
    assert reference.counters["rounds"] == 1
    assert reference.export()["free_pages"] == [23]


def test_per_write_goes_on_while_the_floor_holds() -> None:
    config = replace(
        UNTIMED,
        gc_mode="per_write",
        placement="sep_gc",
        blocks_per_plane=7,
        pages_per_block=2,
        logical_pages=6,
    )
    reference = ran(config, writes(0, 1, 2, 3, 4, 5, 0, 2, 4, 0, 2), fifo)
    # block 0 moves lpn 1 into block 6, opened for GC, so the pool is [0]; block 1 moves lpn 3 and fills it
    assert reference.counters["rounds"] == reference.counters["relocated_pages"] == 2
    assert reference.counters["gc_episodes"] == 1
    assert reference.export()["pool"] == [[0, 1]]
    assert reference.export()["open"] == [[5, -1]]
    assert [reference.export()["logical_ppn"][lpn] for lpn in (1, 3)] == [12, 13]
    assert reference.export()["clock"] == 11


@pytest.mark.parametrize(
    "changes, most",
    [
        ({"threshold_blocks": 2}, 20),
        ({"threshold_blocks": 1}, 20),
        ({"threshold_blocks": 3}, 16),
        ({"threshold_blocks": 4}, 12),
        ({"threshold_blocks": 2, "placement": "sep_gc"}, 16),
        ({"threshold_blocks": None, "threshold_pages": 9}, 19),
        ({"threshold_blocks": 2, "background_pages": 13}, 15),
    ],
)
def test_a_device_that_could_not_run_full_is_refused(changes: dict[str, Any], most: int) -> None:
    config = replace(UNTIMED, blocks_per_plane=8, pages_per_block=4, logical_pages=most, **changes)
    assert config.max_valid_pages == most
    Reference(config, greedy)
    with pytest.raises(ValueError, match="do not fit"):
        Reference(replace(config, logical_pages=most + 1), greedy)


# Background GC


#: V_max is 16 - 12 - 2 = 2; background GC sets in with fewer than 12 of 16 pages free.
BACKGROUND = replace(TIMED, blocks_per_plane=8, pages_per_block=2, logical_pages=2, background_pages=12)


def test_background_gc_runs_while_the_die_has_nothing_else_to_do() -> None:
    reference = ran(BACKGROUND, [*writes(0, 0, 0, 0, 0, gap_ns=1000), read(4300, 0)])
    # the fifth write ends at 4210, the erase of block 0 at 5210
    assert reference.latencies[5] == 5210 + 60 - 4300
    assert reference.counters["rounds"] == reference.counters["erases"] == 1
    assert reference.counters["gc_episodes"] == 0


def test_a_write_drives_the_background_round_of_its_plane_to_its_end() -> None:
    requests = [*writes(1, 0, 0, 0, 0, gap_ns=1000), write(4300, 0), read(4310, 1)]
    reference = ran(BACKGROUND, requests, fifo)
    # move of lpn 1 out of block 0: 4210-4480; read -4540; erase -5540; write -5750
    assert reference.latencies[6] == 4540 - 4310
    assert reference.latencies[5] == 5750 - 4300
    assert reference.counters["relocated_pages"] == 1


def test_background_gc_serves_the_plane_with_the_fewest_free_pages() -> None:
    config = replace(BACKGROUND, planes_per_die=2, logical_pages=4)
    # both planes come under the threshold before the die is idle; plane 1 has one page less
    lpns = [0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1]
    reference = ran(config, [*[write(0, lpn) for lpn in lpns], read(11 * 210 + 1, 1)])
    assert reference.export()["erases"] == [0] * 8 + [1] + [0] * 7


# Sub-blocks


#: Two sub-blocks of two pages. The seventeenth write opens block 4 and leaves block 5 alone in the pool.
RUNS = replace(
    UNTIMED, erase_unit="sub_block_run", sub_blocks_per_block=2, blocks_per_plane=6, logical_pages=4
)
RUN_WRITES = writes(0, 1, 2, 3, *[0, 1] * 6, 0)


def test_erasing_a_run_leaves_the_rest_of_the_block_alone() -> None:
    reference = ran(RUNS, RUN_WRITES, chosen([(0, 0b01)], [(1, 0b11)]))
    state = reference.export()
    # 4 + 2 pages in the pool are under the floor: a second round follows
    assert state["erases"] == [1, 0, 1, 1] + [0] * 8
    assert state["written"][:4] == [0, 2, 0, 0] and state["valid"][:2] == [0, 2]
    assert state["pool"] == [[5, 0, 1]]
    assert state["ages"] == [[2, 3, 0]]
    assert state["buckets"] == [[[0], [], [], [3], [2]]]
    assert reference.counters["erases"] == 2 and reference.counters["erased_sub_blocks"] == 3
    assert reference.counters["relocated_pages"] == 0


def test_a_partly_erased_block_is_opened_at_its_free_sub_block_and_closes_behind_it() -> None:
    choices = [[(0, 0b01)], *([(block, 0b11)] for block in range(1, 5))]
    reference = ran(RUNS, [*RUN_WRITES, *writes(1, 0, 1, *[0, 1] * 2)], chosen(*choices))
    before = reference.export()
    assert before["pool"][0][0] == 0 and 0 in before["ages"][0]
    reference.run(writes(0))
    opened = reference.export()
    assert opened["open"] == [[0]] and 0 not in opened["ages"][0]
    assert opened["written"][:2] == [1, 2]
    reference.run(writes(1))
    assert reference.export()["open"] == [[-1]] and reference.export()["ages"][0][-1] == 0


# Legal erase sets


def legality(**changes: Any) -> Device:
    """Block 0: sub-blocks invalid, valid, invalid, valid. Block 1: all valid. Block 2: open."""
    config = replace(
        UNTIMED, sub_blocks_per_block=4, blocks_per_plane=6, logical_pages=24, planes_per_die=2, **changes
    )
    on_plane_0 = [0, 2, 4, 6, 0, 4, 8, 10, 12]
    return ran(config, writes(*on_plane_0)).device


@pytest.mark.parametrize(
    "block, mask, reason",
    [
        (6, 0b1111, "is in plane 0"),
        (-1, 0b1111, "is in plane 0"),
        (2, 0b1111, "is open"),
        (3, 0b1111, "is open, being collected or empty"),
        (0, 0, "non-empty subset"),
        (0, -1, "non-empty subset"),
        (0, 0b10000, "non-empty subset"),
        (0, 0b0101, "cannot be erased"),
        (0, 0b0010, "no invalid page"),
        (1, 0b1111, "no invalid page"),
    ],
)
def test_illegal_erase_sets_are_refused_and_change_nothing(block: int, mask: int, reason: str) -> None:
    device = legality(erase_unit="sub_block_run")
    before = (dict(device.counters), list(device.ages[0]), list(device.pools[0]))
    with pytest.raises(IllegalEraseSet, match=reason):
        device.start_round(0, [(block, mask)])
    assert (device.counters, device.ages[0], list(device.pools[0])) == before
    assert device.rounds == {}


def test_runs_are_legal_only_where_the_device_can_erase_them() -> None:
    assert legality(erase_unit="sub_block_run").objection(0, [(0, 0b0110)]) is None
    assert legality(erase_unit="sub_block_run").objection(0, [(0, 0b0001)]) is None
    assert "cannot be erased" in str(legality(erase_unit="block").objection(0, [(0, 0b0110)]))
    assert legality(erase_unit="block").objection(0, [(0, 0b1111)]) is None
