"""The rules of the block FTLs by example, on the reference with the engine beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.blocks import Both

from ..helpers import Row, trim, write
from . import NFTL, SUPERBLOCK, BlockConfig, BlockReference, IllegalCandidate
from .audit import check
from .simulator import Rule

# Six blocks of four pages, each page a leaf; three bundles of four logical pages. The pool keeps one block.
SMALL = BlockConfig(
    kind=NFTL,
    blocks_per_plane=6,
    pages_per_block=4,
    sub_blocks_per_block=4,
    logical_pages=12,
    read_ns=50,
    program_ns=200,
    erase_ns=1000,
    transfer_ns=10,
    spare_transfer_ns=2,
)
#: Two logical blocks in up to three physical ones; two bundles of eight logical pages.
SUPER = replace(
    SMALL, kind=SUPERBLOCK, logical_blocks=2, physical_blocks=3, logical_pages=16, blocks_per_plane=7
)
ALL = [write(0, 0, 12)]
BOTH = pytest.mark.parametrize("timing", ["none", "event"])


def last_candidate(plans: Any, case: Any) -> int:
    """M-Merge by Algorithm 1 wherever it is allowed."""
    return len(plans) - 1 if plans[-1].allowed else 0


def ran(config: BlockConfig, requests: list[Row], rule: str | Rule = "merge") -> BlockReference:
    """The reference after these requests; the engine beside it is the same."""
    both = Both(config, rule)
    both.reference.both = both
    more(both.reference, requests)
    return both.reference


def more(reference: BlockReference, requests: list[Row], horizon: int | None = None) -> None:
    """Go on, and so does the engine where one is beside the reference."""
    if both := getattr(reference, "both", None):
        both.run(requests, [], horizon)
        both.check()
        return
    reference.run(requests)
    check(reference)


def writes(*lpns: int) -> list[Row]:
    return [write(0, lpn) for lpn in lpns]


def places(reference: BlockReference, *lpns: int) -> list[tuple[int, int]]:
    """Block and page within it."""
    return [divmod(reference.device.logical[lpn].ppn, 4) for lpn in lpns]


def counted(reference: BlockReference, *names: str) -> tuple[int, ...]:
    return tuple(reference.counters[name] for name in names)


# Bundles


@pytest.mark.parametrize(
    ("striping", "expected"),
    [("blocks", [(0, 0), (0, 3), (1, 0), (3, 3)]), ("pages", [(0, 0), (1, 1), (0, 2), (3, 3)])],
)
def test_striping__says_which_pages_are_a_bundle(striping: str, expected: list[tuple[int, int]]) -> None:
    device = BlockReference(replace(SMALL, planes_per_die=2, logical_pages=16, striping=striping)).device
    assert [device.bundle_and_place(lpn) for lpn in (0, 3, 4, 15)] == expected
    assert [device.plane_of_bundle(bundle) for bundle in range(4)] == [0, 1, 0, 1]


def test_config__too_few_blocks__is_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        replace(SMALL, blocks_per_plane=4)


# Where a page goes


def test_nftl__first_to_its_place_in_d_then_to_u_in_order() -> None:
    reference = ran(SMALL, writes(2, 0, 2, 2, 0))
    assert reference.device.slots[0] == [0, 1, None]
    assert places(reference, 2, 0) == [(1, 1), (1, 2)]
    assert list(reference.device.pools[0]) == [2, 3, 4, 5]


def test_nftl__a_trimmed_page_has_used_its_place_in_d() -> None:
    reference = ran(SMALL, [*writes(2), trim(0, 2), *writes(1, 2)])
    assert places(reference, 1, 2) == [(0, 1), (1, 0)]


def test_superblock__pages_go_to_the_lowest_erased_page() -> None:
    reference = ran(SUPER, writes(7, 0, 1, 0, 3, 3))
    assert reference.device.slots[0] == [0, 1, None, None, None]
    assert places(reference, 7, 1, 0, 3) == [(0, 0), (0, 2), (0, 3), (1, 1)]


@BOTH
def test_nftl__a_full_u_is_merged(timing: str) -> None:
    reference = ran(replace(SMALL, timing=timing), [write(0, 0, 3), *writes(0, 0, 1, 0)])
    assert reference.counters["gc_invocations"] == 0
    more(reference, writes(1))
    # D and U, 0 and 1, have become 2; then the page is written to a new U, and page 3 keeps its place in D.
    assert reference.device.slots[0] == [2, 3, None]
    assert places(reference, 0, 1, 2) == [(2, 0), (3, 0), (2, 2)]
    assert list(reference.device.pools[0]) == [4, 5, 0, 1]
    assert counted(reference, "merges", "full_jobs", "relocated_pages", "erases") == (1, 1, 3, 2)
    assert counted(reference, "spare_reads", "erased_sub_blocks") == (7, 8)
    more(reference, writes(3))
    assert places(reference, 3) == [(2, 3)]


def test_nftl__a_merge_of_nothing_leaves_the_bundle_without_blocks() -> None:
    reference = ran(SMALL, [*writes(0, 0, 0, 0, 0), trim(0, 0), *writes(0)])
    assert counted(reference, "merges", "relocated_pages", "erases") == (1, 0, 2)
    assert reference.device.slots[0] == [2, None, None]
    assert places(reference, 0) == [(2, 0)]


@BOTH
def test_pool__the_victim_has_most_invalid_pages(timing: str) -> None:
    # Three D and two U, of bundle 0 with one invalid page and of 1 with two; one block is left.
    reference = ran(replace(SMALL, timing=timing), [*ALL, *writes(0, 4, 5, 8)])
    assert counted(reference, "pool_jobs", "full_jobs") == (1, 0)
    assert [slots[1] is None for slots in reference.device.slots] == [False, True, False]


@pytest.mark.parametrize(("order", "collected"), [((0, 4), 0), ((4, 0), 1), ((0, 4, 5, 1), 1)])
def test_pool__of_equals_the_victim_has_waited_longest(order: tuple[int, ...], collected: int) -> None:
    reference = ran(SMALL, [*ALL, *writes(*order, 8)])
    assert reference.device.slots[collected][1] is None
    assert reference.counters["pool_jobs"] == 1


def test_victim__a_trim_counts_as_a_change() -> None:
    reference = ran(SMALL, [*ALL, *writes(0, 0, 4), trim(0, 7), *writes(8)])
    assert reference.device.slots[0][1] is None
    reference = ran(SMALL, [*ALL, *writes(4), trim(0, 7), *writes(0, 0, 8)])
    assert reference.device.slots[1][1] is None


# Superblocks


@BOTH
def test_superblock__full__the_block_with_fewest_valid_pages_is_collected(timing: str) -> None:
    reference = ran(replace(SUPER, timing=timing), [write(0, 0, 8), *writes(0, 1, 2, 4)])
    more(reference, writes(5))
    # Block 0 keeps page 3, which goes to a new block in the lowest free slot; page 5 follows it.
    assert reference.device.slots[0] == [None, 1, 2, 3, None]
    assert places(reference, 3, 5, 4) == [(3, 0), (3, 1), (2, 3)]
    assert counted(reference, "merges", "full_jobs", "relocated_pages", "erases") == (1, 1, 1, 1)


def test_superblock__pool__as_many_blocks_are_collected_as_leave_it_small() -> None:
    # Bundle 1 has block 2 and 3, bundle 0 then takes block 4 and holds 3, 3 and 2 valid pages.
    config = replace(SUPER, blocks_per_plane=6)
    reference = ran(config, [write(0, 0, 8), write(0, 8, 8), *writes(0, 4)])
    assert reference.device.slots[0] == [0, 1, 4, None, None]
    more(reference, writes(8))
    # The two valid pages of block 4 find no room; with block 0 there are 5, which one new block cannot hold.
    # All three are collected: 8 pages into two blocks.
    assert counted(reference, "pool_jobs", "relocated_pages", "erases") == (1, 8, 3)
    assert len(reference.device.held(0)) == 2


# Partial erase and disturbance


def test_erase__counts_for_each_leaf_and_disturbs_what_is_beside() -> None:
    device = ran(replace(SMALL, disturb_tolerance=0, disturb_care=False), ALL).device
    for lpn in (4, 5):
        device.unmap(lpn)
    device.erase_pb(1, 2)
    assert device.erases[4:8] == [1, 1, 0, 0] and device.disturbed[4:8] == [0, 0, 1, 0]
    assert device.disturbed[2:4] == [0, 0]  # another block
    assert device.physical[4:8] == [(-1, 0), (-1, 0), (6, -1), (7, 1)]
    assert device.counters["spoiled_pages"] == 1
    assert not device.holds_newest(6) and device.holds_newest(7)


# M-Merge


@BOTH
def test_m_merge__restores_what_is_invalid(timing: str) -> None:
    reference = ran(replace(SMALL, timing=timing), [write(0, 0, 4), *writes(0, 1, 1, 1)], last_candidate)
    more(reference, writes(0))
    device = reference.device
    assert device.slots[0] == [0, 2, None] and list(device.pools[0]) == [3, 4, 5, 1]
    assert places(reference, 0, 1, 2, 3) == [(2, 0), (0, 1), (0, 2), (0, 3)]
    assert counted(reference, "m_merges", "relocated_pages", "partial_erases", "erases") == (1, 2, 1, 2)
    assert device.erases[:8] == [1, 1, 0, 0, 1, 1, 1, 1]
    assert device.disturbed[:8] == [0, 0, 1, 0, 0, 0, 0, 0]  # the leaf beside the erased ones
    assert device.since_merge[0] == 1


def test_m_merge__without_room_erases_a_part_of_u_first() -> None:
    cheap = {1: 1000, 2: 10}
    config = replace(SMALL, partial_erase_ns=cheap)
    reference = ran(config, [write(0, 0, 4), *writes(0, 0, 0, 2, 0)], last_candidate)
    # Restoring both halves is cheapest. U holds one old copy, page 0, twice page 0 and page 2: its first half
    # is erased for pages 1 and 3.
    assert counted(reference, "m_merges", "out_copies", "partial_erases", "erases") == (1, 2, 3, 4)
    assert reference.device.since_merge[0] == 1


def test_m_merge__may_follow_m_merges_up_to_the_limit() -> None:
    again = writes(0, 0, 0, 0, 0)
    reference = ran(replace(SMALL, mmerge_limit=2), [write(0, 0, 4), *again * 3], last_candidate)
    assert counted(reference, "m_merges", "merges") == (2, 1)
    assert reference.device.since_merge[0] == 0


def test_candidate__not_allowed__is_refused() -> None:
    reference = BlockReference(replace(SMALL, mmerge_limit=0))
    steps = reference.decisions([write(0, 0, 4), *writes(0, 0, 0, 0, 0)])
    plans, case = next(steps)
    assert [plan.allowed for plan in plans] == [True, False, False, False, False]
    assert (case.candidates, case.cause, case.since_merge, case.limit) == (5, 0, 0, 0)
    assert (case.free_blocks, case.kept_blocks, case.waiting, case.valid, case.invalid) == (4, 1, 0, 4, 4)
    with pytest.raises(IllegalCandidate):
        steps.send(4)
    assert reference.counters["gc_invocations"] == 0


def test_superblock_m_merge__pages_of_the_u_set_fill_the_d_set() -> None:
    reference = ran(SUPER, [write(0, 0, 8), *writes(0, 0, 0, 0)], last_candidate)
    more(reference, writes(1))
    # Of block 2 one page is valid; it takes the place of the only invalid one of blocks 0 and 1.
    assert places(reference, 0, 1, 2) == [(0, 0), (3, 0), (0, 2)]
    assert reference.device.slots[0] == [0, 1, 3, None, None]
    assert list(reference.device.pools[0]) == [4, 5, 6, 2]
    assert counted(reference, "m_merges", "out_copies", "relocated_pages", "erases") == (1, 0, 1, 2)


def test_superblock_m_merge__pages_leave_for_a_block_that_is_taken() -> None:
    config = replace(SUPER, partial_erase_ns={1: 1000, 2: 10})
    reference = ran(config, [write(0, 0, 8), *writes(0, 0, 0, 0)], last_candidate)
    more(reference, writes(1))
    # The first half of block 0 is erased; page 1 waits in block 3, and returns after page 0 of block 2.
    assert places(reference, 0, 1, 2) == [(0, 0), (4, 0), (0, 2)]
    assert list(reference.device.pools[0]) == [5, 6, 2, 3]
    assert counted(reference, "m_merges", "out_copies", "relocated_pages", "erases") == (1, 1, 3, 3)


def test_rule__mmerge__takes_what_is_cheaper() -> None:
    reference = ran(SMALL, [write(0, 0, 4), *writes(0, 1, 1, 1, 0)], "mmerge")
    assert counted(reference, "merges", "m_merges") == (0, 1)
    reference = ran(
        replace(SMALL, erase_ns=0, sub_blocks_per_block=1), [write(0, 0, 4), *writes(0, 1, 1, 1, 0)], "mmerge"
    )
    assert counted(reference, "merges", "m_merges") == (1, 0)


def test_nominal_times__of_all_commands_are_added() -> None:
    reference = ran(SMALL, [write(0, 0, 4), *writes(0, 1, 1, 1, 0)], last_candidate)
    assert counted(reference, "gc_spare_ns", "gc_read_ns", "gc_write_ns", "gc_erase_ns") == (
        8 * 52,
        2 * 60,
        2 * 210,
        2000,
    )
