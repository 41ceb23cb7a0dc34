"""The rules of the sub-page FTLs by example, on the reference with the engine beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.subpages import Both

from .. import WRITE
from ..helpers import Row, flush, read, trim
from ..page.policies import greedy
from . import CGM, FGM, SECTOR_LOG, SUBFTL, OutOfOrder, SubpageConfig, SubpageReference
from .admission import SYNC
from .audit import check

# One plane of nine blocks of four pages of four subpages; the last three blocks, X, Y and Z, are the region.
PAPER = SubpageConfig(
    kind=SUBFTL,
    blocks_per_plane=9,
    flash_pages_per_block=4,
    slots_per_page=4,
    region_blocks=3,
    threshold_blocks=2,
    logical_pages=40,
    subpage_bytes=10,
)
X, Y, Z = 6, 7, 8

# A read takes 50 + 8, a page 8 + 200, a subpage 2 + 100, its copy 50 + 4 + 100 and an erase 1000 ns.
TIMED = replace(
    PAPER,
    timing="event",
    read_ns=50,
    program_ns=200,
    erase_ns=1000,
    transfer_ns=8,
    subpage_program_ns=100,
    subpage_transfer_ns=2,
)


def sync(at: int, lpn: int, sectors: int = 1) -> Row:
    return at, lpn, sectors, WRITE, SYNC


def lazy(at: int, lpn: int, sectors: int = 1) -> Row:
    """A write that may stay in the buffer."""
    return at, lpn, sectors, WRITE, 0


def syncs(*lpns: int) -> list[Row]:
    return [sync(0, lpn) for lpn in lpns]


def ran(config: SubpageConfig, requests: list[Row], **how: Any) -> SubpageReference:
    """The reference after these requests; the engine beside it is the same."""
    both = Both(config, "greedy", **how)
    both.reference.both = both
    more(both.reference, requests)
    return both.reference


def alone(config: SubpageConfig, requests: list[Row], **how: Any) -> SubpageReference:
    """The reference with a region that is too small for the engine."""
    reference = SubpageReference(config, greedy, **how)
    reference.run(requests)
    check(reference)
    return reference


def more(reference: SubpageReference, requests: list[Row]) -> None:
    """Go on, the engine as well."""
    reference.both.run(requests, [], None)
    reference.both.check()


def place(reference: SubpageReference, lpn: int) -> tuple[int, int, int]:
    """Block, page within it, and subpage within that."""
    page, offset = divmod(reference.device.logical[lpn].ppn, reference.config.slots_per_page)
    block, number = divmod(page, reference.config.flash_pages_per_block)
    return block, number, offset


def places(reference: SubpageReference, *lpns: int) -> list[tuple[int, int, int]]:
    return [place(reference, lpn) for lpn in lpns]


def counted(reference: SubpageReference, *names: str) -> tuple[int, ...]:
    return tuple(reference.counters[name] for name in names)


# The paper's figure 7

ZEROTH_PASSES = syncs(0, 1, 2, 3, 1, 2, 3, 7)


def test_figure_7__zeroth_subpages_of_all_blocks_come_first() -> None:
    reference = ran(PAPER, ZEROTH_PASSES[:4])
    assert places(reference, 0, 1, 2, 3) == [(X, 0, 0), (X, 1, 0), (X, 2, 0), (X, 3, 0)]
    more(reference, ZEROTH_PASSES[4:])
    assert places(reference, 1, 2, 3, 7) == [(Y, 0, 0), (Y, 1, 0), (Y, 2, 0), (Y, 3, 0)]
    assert place(reference, 0) == (X, 0, 0)
    assert counted(reference, "subpage_programs", "full_programs", "erases") == (8, 0, 0)


def test_figure_7__the_block_with_fewest_valid_subpages_is_passed_again() -> None:
    reference = ran(PAPER, [*ZEROTH_PASSES, *syncs(7, 8, 9)])
    # Sector 0 is in the way and moves on within its page; 7, 8 and 9 follow it.
    assert places(reference, 0, 7, 8, 9) == [(X, 0, 1), (X, 1, 1), (X, 2, 1), (X, 3, 1)]
    assert places(reference, 1, 2, 3) == [(Y, 0, 0), (Y, 1, 0), (Y, 2, 0)]
    assert counted(reference, "advances", "subpage_programs", "erases") == (1, 12, 0)
    assert counted(reference, "small_write_bytes", "small_flash_bytes") == (110, 120)


def test_figure_7__without_advances_the_valid_subpage_stays_where_it_is() -> None:
    reference = ran(replace(PAPER, advance="never"), [*ZEROTH_PASSES, *syncs(7, 8, 9)])
    assert places(reference, 0, 7, 8, 9) == [(X, 0, 0), (X, 1, 1), (X, 2, 1), (X, 3, 1)]
    assert counted(reference, "advances", "subpage_programs") == (0, 11)


def test_subpage_program__over_a_valid_subpage__is_refused() -> None:
    device = ran(PAPER, syncs(0)).device
    with pytest.raises(OutOfOrder):
        device.program_subpage(device.page_of(0), (1, 1))


def test_subpage_program__destroys_what_lies_below() -> None:
    reference = ran(PAPER, [*ZEROTH_PASSES, *syncs(7, 8, 9)])
    old = reference.device.pages_of_block(X)[1]
    assert reference.device.pages[old][0] == (1, -1)
    reference.device.logical[1].ppn = reference.device.slots_of_page(old)[0]  # as if nothing had followed
    reference.run([read(0, 1)])
    assert reference.counters["lost_pages"] == 2  # by the read, and by the audit


# Collections of the region

# Two passes of one block, and one in reserve.
TWO_PASSES = replace(PAPER, region_blocks=2, blocks_per_plane=8, slots_per_page=2, logical_pages=20)


#: With two subpages a page: X, Y and X again take the same, then Y takes others, and no pass is left.
NO_PASS_LEFT = syncs(*[0, 2, 4, 6] * 3, 8, 10, 12, 16)
THREE_BLOCKS = replace(PAPER, slots_per_page=2, logical_pages=20)


def test_collection__updated_sectors_stay_up_to_three_quarters_of_a_block() -> None:
    reference = ran(THREE_BLOCKS, NO_PASS_LEFT)
    assert places(reference, 0, 2, 4, 6) == [(X, 0, 1), (X, 1, 1), (X, 2, 1), (X, 3, 1)]
    more(reference, syncs(14))
    assert places(reference, 0, 2, 4, 6, 14) == [(Z, 0, 0), (Z, 1, 0), (Z, 2, 0), (0, 0, 0), (Z, 3, 0)]
    assert counted(reference, "region_moves", "evictions", "region_collections", "erases") == (3, 1, 1, 1)
    region = reference.device.regions[0]
    assert (region.open, region.reserve, region.passes) == (Z, X, {X: 0, Y: 2, Z: 1})


def test_collection__sectors_written_once_are_evicted_with_their_groups() -> None:
    reference = alone(TWO_PASSES, [sync(0, 0, 2), *syncs(0, 2, 4, 6, 8)])
    # All four were in the way of 8 and advanced; then no pass was left. None had come as an update.
    assert places(reference, 0, 1, 2, 8) == [(0, 1, 0), (0, 1, 1), (0, 2, 0), (Y, 0, 0)]
    assert counted(reference, "advances", "evictions", "region_moves") == (4, 4, 0)
    assert counted(reference, "rmw_count", "rmw_reads") == (4, 5)  # sector 1 was on another page


def test_collection__answers_from_outside_decide() -> None:
    nothing_stays = ran(THREE_BLOCKS, [*NO_PASS_LEFT, *syncs(14)], keeps=lambda lpn: False)
    assert counted(nothing_stays, "region_moves", "evictions") == (0, 4)
    all_would_stay = alone(TWO_PASSES, syncs(0, 2, 4, 6, 8), keeps=lambda lpn: True)
    assert counted(all_would_stay, "region_moves", "evictions") == (3, 1)  # about the last nobody is asked


def test_eviction__takes_both_subpages_of_a_group_at_once() -> None:
    reference = alone(TWO_PASSES, syncs(0, 1, 2, 3, 4))
    assert places(reference, 0, 1, 2, 3) == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    assert counted(reference, "evictions", "full_programs", "rmw_reads") == (2, 2, 4)


def test_wear__a_worn_region_block_changes_places_with_a_fresh_one() -> None:
    reference = alone(replace(TWO_PASSES, wear_gap=1), syncs(*[0, 2, 4, 6] * 10))
    assert reference.counters["region_conversions"] > 0
    assert reference.device.regions[0].blocks != [X, Y]
    assert alone(TWO_PASSES, syncs(*[0, 2, 4, 6] * 10)).counters["region_conversions"] == 0


def test_printed_rule__passes_blocks_while_any_pass_is_left() -> None:
    """With fewest valid the emptied block is collected again; as printed the fuller one is passed."""
    requests = syncs(*range(4), *[20, 21, 22, 23] * 20)
    mended, printed = (
        ran(config, requests) for config in (PAPER, replace(PAPER, rule="printed", collect_blocks=1))
    )
    assert printed.counters["advances"] > mended.counters["advances"]
    assert counted(mended, "host_pages_written") == counted(printed, "host_pages_written") == (84,)


@pytest.mark.parametrize(("collect_blocks", "collected", "target"), [(1, 1, (Z, 0, 1)), (None, 2, (X, 0, 0))])
def test_printed_rule__collects_so_many_blocks_before_it_passes_again(
    collect_blocks: int | None, collected: int, target: tuple[int, int, int]
) -> None:
    reference = ran(replace(THREE_BLOCKS, rule="printed", collect_blocks=collect_blocks), NO_PASS_LEFT)
    forget = [trim(0, lpn) for lpn in range(20)]
    # X is collected and Z is filled. Then Z has a pass left, and Y has none.
    more(reference, [*forget, *syncs(0, 2, 4, 6), *forget, *syncs(8)])
    assert place(reference, 8) == target
    assert counted(reference, "region_collections") == (collected,)


# Flushes


def test_buffer__waits_merges_and_flushes_the_oldest_group() -> None:
    reference = ran(replace(PAPER, buffer_groups=2), [lazy(0, 0), lazy(0, 4), lazy(0, 0), read(0, 0)])
    assert counted(reference, "buffer_merges", "buffer_hits", "subpage_programs") == (1, 1, 0)
    more(reference, [lazy(0, 8)])
    assert list(reference.loop.buffer) == [1, 2]
    assert place(reference, 0) == (X, 0, 0)
    assert reference.device.logical[0].version == 2  # the first was merged into the second
    more(reference, [flush(0)])
    assert not reference.loop.buffer and reference.counters["subpage_programs"] == 3


def test_buffer__a_whole_group_leaves_as_one_page() -> None:
    reference = ran(PAPER, [lazy(0, 0, 3), lazy(0, 3)])
    assert places(reference, 0, 1, 2, 3) == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)]
    assert counted(reference, "full_programs", "small_write_bytes", "wasted_slots") == (1, 0, 0)


def test_buffer__a_sync_write_takes_what_waits_in_its_entry_along() -> None:
    reference = ran(PAPER, [lazy(0, 1), sync(0, 0), lazy(0, 2)])
    assert places(reference, 0, 1) == [(X, 0, 0), (X, 1, 0)]
    assert reference.loop.buffer == {0: {2}}


def test_buffer__a_trim_takes_a_sector_out() -> None:
    reference = ran(PAPER, [lazy(0, 0, 2), trim(0, 0), flush(0), read(0, 0)])
    assert counted(reference, "subpage_programs", "unmapped_reads", "host_pages_trimmed") == (1, 1, 1)


def test_run__of_20_kib__is_a_page_and_a_subpage() -> None:
    reference = ran(PAPER, [sync(0, 0, 5)])
    assert places(reference, 0, 3, 4) == [(0, 0, 0), (0, 0, 3), (X, 0, 0)]
    assert counted(reference, "full_programs", "subpage_programs", "small_write_bytes") == (1, 1, 10)


def test_run__of_full_pages_that_are_not_aligned__modifies_pages_at_both_ends() -> None:
    """Sectors 2 to 9: the tail of a group, a whole one, the head of another, all of them mapped."""
    reference = ran(PAPER, [sync(0, 0, 12), sync(0, 2, 8)])
    assert places(reference, 4, 2, 9) == [(1, 0, 0), (0, 3, 2), (1, 1, 1)]
    assert counted(reference, "full_programs", "subpage_programs", "rmw_count") == (6, 0, 2)
    assert counted(reference, "small_write_bytes", "small_flash_bytes") == (0, 0)


def test_run__is_merged_of_several_writes() -> None:
    reference = ran(PAPER, [lazy(0, 3), lazy(0, 6), lazy(0, 4)])
    assert reference.loop.buffer == {0: {3}, 1: {4, 6}}
    more(reference, [lazy(0, 5)])
    assert reference.loop.buffer == {}
    assert counted(reference, "full_programs", "subpage_programs") == (2, 0)


def test_run__takes_along_what_waits_beside_its_request() -> None:
    """Sectors 3 to 8 of groups 0, 1 and 2; the last two are less than a page, and 10 is apart."""
    reference = ran(PAPER, [lazy(0, 3), lazy(0, 8), lazy(0, 10), sync(0, 4, 4)])
    assert reference.loop.buffer == {2: {10}}
    assert counted(reference, "full_programs", "subpage_programs", "small_write_bytes") == (2, 2, 20)
    assert [place(reference, lpn)[0] for lpn in (3, 6, 7, 8)] == [0, 0, X, X]


def test_run__that_is_declined_by_the_region__goes_with_its_full_page() -> None:
    reference = ran(PAPER, [sync(0, 1, 5)], to_region=lambda lpn: False)
    assert counted(reference, "full_programs", "subpage_programs", "small_write_bytes") == (2, 0, 10)


def test_run__that_has_left__is_not_gone_on_with_by_another_request() -> None:
    reference = ran(PAPER, [sync(0, 3), lazy(0, 3, 2)])
    assert reference.loop.buffer == {0: {3}, 1: {4}}
    reference.both.run([sync(0, 7, 2)], [], 1)  # the horizon cuts it in the middle
    more(reference, [lazy(0, 7, 2)])
    assert reference.loop.buffer == {0: {3}, 1: {4, 7}, 2: {8}}


@pytest.mark.parametrize("offset", range(1, 4))
def test_run__of_a_page__never_goes_to_the_region(offset: int) -> None:
    pages = [lazy(0, lpn, 4) for lpn in range(offset, 20, 4)]
    assert counted(ran(PAPER, pages), "full_programs", "subpage_programs") == (10, 0)


def test_run__in_time__is_done_when_all_of_it_is() -> None:
    """A page in two groups and a subpage, on one die: 208 + 208 + 102 ns."""
    reference = ran(TIMED, [sync(0, 3, 5)])
    assert reference.loop.now == 518


def test_cgm__a_partial_flush_reads_the_rest_of_its_group() -> None:
    reference = ran(replace(PAPER, kind=CGM), [sync(0, 0, 4), sync(0, 1)])
    assert places(reference, 0, 1, 2, 3) == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3)]
    assert counted(reference, "rmw_count", "rmw_reads", "flash_reads", "full_programs") == (1, 1, 1, 2)
    assert counted(reference, "small_write_bytes", "small_flash_bytes") == (10, 40)


def test_cgm__without_anything_to_read_the_rest_of_the_page_is_wasted() -> None:
    reference = ran(replace(PAPER, kind=CGM), [sync(0, 1)])
    assert place(reference, 1) == (0, 0, 1)
    assert counted(reference, "rmw_count", "wasted_slots") == (0, 3)


def test_subftl__a_whole_page_replaces_what_the_region_holds_of_its_group() -> None:
    reference = ran(PAPER, [sync(0, 1), sync(0, 0, 4)])
    assert places(reference, 0, 1, 2, 3) == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)]


def test_subftl__a_group_sent_to_the_main_area_is_merged_from_both() -> None:
    reference = ran(PAPER, [sync(0, 0, 4), sync(0, 1)])
    assert places(reference, 0, 1) == [(0, 0, 0), (X, 0, 0)]
    reference.both.to_region = reference.loop.to_region = lambda lpn: False
    more(reference, [sync(0, 2)])
    assert places(reference, 0, 1, 2, 3) == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3)]
    assert counted(reference, "rmw_count", "rmw_reads") == (1, 2)  # a page of each area


def test_fgm__a_flush_of_the_oldest_gathers_a_page() -> None:
    requests = [lazy(0, 0, 2), lazy(0, 5), lazy(0, 8, 3), lazy(0, 12)]
    reference = ran(replace(PAPER, kind=FGM, buffer_groups=3), requests)
    assert places(reference, 0, 1, 5, 8) == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)]
    assert list(reference.loop.buffer.items()) == [(2, {9, 10}), (3, {12})]
    assert counted(reference, "small_write_bytes", "wasted_slots") == (0, 0)
    more(reference, [sync(0, 20)])
    assert counted(reference, "small_write_bytes", "small_flash_bytes", "wasted_slots") == (10, 40, 3)


def test_sector_log__small_writes_are_gathered_in_the_log() -> None:
    requests = [lazy(0, 0, 2), lazy(0, 5), lazy(0, 8, 3), lazy(0, 12), sync(0, 20, 4)]
    reference = ran(replace(PAPER, kind=SECTOR_LOG, buffer_groups=3), requests)
    assert places(reference, 0, 1, 5, 8) == [(X, 0, 0), (X, 0, 1), (X, 0, 2), (X, 0, 3)]
    assert place(reference, 20) == (0, 0, 0)


def test_sector_log__is_collected_by_evictions_of_the_emptiest_block() -> None:
    config = replace(PAPER, kind=SECTOR_LOG, region_blocks=1, blocks_per_plane=7)
    reference = alone(config, syncs(0, 4, 0, 4, 8))
    assert counted(reference, "evictions", "region_collections", "region_moves") == (2, 1, 0)
    assert places(reference, 0, 4, 8) == [(0, 0, 0), (0, 1, 0), (X, 0, 0)]


# Garbage collection of the main area


def test_gc__fgm_gathers_slots_to_pages() -> None:
    config = replace(PAPER, kind=FGM, blocks_per_plane=6)
    reference = ran(config, [*[sync(0, lpn, 4) for lpn in range(0, 40, 4)], *syncs(*[0, 5, 10, 15] * 9)])
    counters = reference.counters
    assert counters["relocated_pages"] > 0 and counters["flash_reads"] > 0
    assert counters["full_programs"] > 46


def test_gc__a_page_keeps_its_valid_slots_where_they_were() -> None:
    """The first sector of group 3 has gone to the region; the others move together, three times."""
    rewrites = [sync(0, lpn, 4) for lpn in [0, 4, 8] * 8]
    reference = ran(PAPER, [*[sync(0, lpn, 4) for lpn in range(0, 40, 4)], *syncs(12), *rewrites])
    assert [place(reference, lpn)[2] for lpn in (13, 14, 15)] == [1, 2, 3]
    assert counted(reference, "relocated_pages", "wasted_slots") == (9, 3)


# Retention


def test_retention__the_sixteenth_day_evicts() -> None:
    reference = ran(PAPER, syncs(0, 1))
    reference.both.pass_days(15)
    assert reference.counters["retention_evictions"] == 0
    reference.both.pass_days(1)
    reference.both.check()
    # One page takes the whole group along.
    assert counted(reference, "retention_evictions", "evictions", "full_programs") == (1, 1, 1)
    assert places(reference, 0, 1) == [(0, 0, 0), (0, 0, 1)]
    reference.both.pass_days(100)
    more(reference, [read(0, 0, 2)])
    assert reference.counters["uncorrectable_reads"] == 0


def test_retention__without_the_sweep_data_is_lost_in_a_month() -> None:
    reference = ran(replace(PAPER, evict_after_h=0), [*syncs(0, 4), sync(0, 8, 4)])
    reference.both.pass_days(30)
    more(reference, [read(0, 0), read(0, 8)])
    assert reference.counters["uncorrectable_reads"] == 0
    reference.both.pass_days(1)
    more(reference, [read(0, 0), read(0, 8)])  # a whole page keeps its data for a year
    assert reference.counters["uncorrectable_reads"] == 1


def test_retention__an_advance_renews_the_data() -> None:
    reference = ran(PAPER, syncs(0, 4, 8, 12, 4, 8, 12, 16))
    reference.both.pass_days(15)
    more(reference, syncs(16))
    reference.both.pass_days(1)
    assert places(reference, 0, 16) == [(X, 0, 1), (X, 1, 1)]
    assert places(reference, 4, 8, 12) == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]


# In time


def test_time__a_sync_write_ends_with_its_subpage_program() -> None:
    reference = ran(TIMED, [sync(0, 0), lazy(0, 4), sync(500, 8, 4), read(1000, 0)])
    assert reference.latencies == {0: 102, 1: 0, 2: 208, 3: 58}


def test_time__sectors_of_a_flush_follow_each_other_in_a_die() -> None:
    assert ran(TIMED, [sync(0, 0, 2)]).latencies == {0: 204}
    assert ran(replace(TIMED, channels=2), [sync(0, 0, 2)]).latencies == {0: 102}


def test_time__a_sync_write_does_not_wait_for_what_it_takes_along() -> None:
    reference = ran(TIMED, [lazy(0, 1), sync(0, 0)])
    assert reference.latencies == {0: 0, 1: 102}
    assert reference.loop.now == 204


def test_time__a_read_modify_write_reads_its_pages_first() -> None:
    reference = ran(replace(TIMED, kind=CGM), [sync(0, 0, 4), sync(1000, 1)])
    assert reference.latencies[1] == 58 + 208


def test_time__an_advance_is_a_command_before_the_program() -> None:
    reference = ran(TIMED, [*ZEROTH_PASSES, sync(5000, 7)])
    assert reference.latencies[8] == 154 + 102


def test_time__a_collection_holds_the_region_up() -> None:
    """Three moves, the read and the program of an eviction, and an erase come before the program."""
    timed = replace(TIMED, slots_per_page=2, logical_pages=20, transfer_ns=4)
    reference = ran(timed, [*NO_PASS_LEFT, sync(5000, 14)])
    assert reference.latencies[16] == 3 * 154 + 54 + 204 + 1000 + 102


def test_time__a_flush_empties_the_buffer_and_holds_up_what_follows() -> None:
    reference = ran(TIMED, [lazy(0, 0), lazy(0, 4), flush(0), read(0, 12)])
    assert reference.latencies[3] == reference.loop.now == 204
    assert not reference.loop.buffer


def test_time__a_read_of_sectors_on_two_pages_waits_for_both() -> None:
    reference = ran(TIMED, [sync(0, 0, 4), sync(500, 1), read(1000, 0, 4)])
    assert reference.latencies[2] == 2 * 58
    assert reference.counters["flash_reads"] == 2


#: Sectors 1 and 2 are trimmed while a read waits for its die; 1 comes back only when it has begun.
READ_OF_TRIMMED = [
    *(sync(0, 0, 4), sync(0, 4, 4), sync(1000, 8, 4)),
    *(read(1001, 0, 3), trim(1002, 1, 2), sync(1210, 1)),
]


def test_time__a_read_drops_what_is_not_mapped_when_it_starts() -> None:
    reference = ran(replace(TIMED, kind=FGM, channels=2), READ_OF_TRIMMED)
    assert counted(reference, "flash_reads", "unmapped_reads") == (1, 2)
    assert reference.latencies[3] == 1000 + 208 + 58 - 1001


def test_time__a_request_that_has_to_flush_first_is_in_admission_from_then_on() -> None:
    """Six places must be free. The seventh flush leaves five, so the write behind it waits for a program."""
    config = replace(TIMED, slots_per_page=2, logical_pages=20, window_pages=12, buffer_groups=1)
    reference = ran(replace(config, closed_loop=True), [lazy(0, 2 * k) for k in range(9)])
    assert [reference.latencies[k] for k in (6, 7, 8)] == [0, 102, 102]
