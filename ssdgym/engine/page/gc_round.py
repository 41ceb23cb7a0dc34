"""The steps of a GC round: move the valid pages of an erase set, then erase the set.

On an event-driven device a die carries out a round command by command (`move_command`, `finish_round`). On an
untimed device `run_round` carries out a round at once. A round may span several planes of a die: its pairs
are in `round_pairs` of the leading plane, and each plane moves the pages of the pairs that lie in the plane.
"""

import numpy as np

from ssdgym.engine.blocks import manager
from ssdgym.engine.blocks.wear import ensure_open_for_levelling, program_levelled
from ssdgym.engine.core.bits import has, quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.core.records import (
    BY_RULE,
    LEVELLING_DUE,
    LEVELLING_RUNS,
    LEVELS,
    MAX_PAIRS,
    MAX_STREAMS,
    RETIRED,
    TO_THE_POOL,
    WORN,
)
from ssdgym.engine.core.status import OK, OUT_OF_SPACE
from ssdgym.engine.decisions import ALLOCATES, RELOCATE, RELOCATED, is_external, page_event, status_of
from ssdgym.engine.erase.legality import gc_unfinished
from ssdgym.engine.flash import block_of, check_page, neighbours_of, plane_of, program_page, sub_block_of
from ssdgym.engine.page import placement
from ssdgym.engine.page.lifetime import empty_block, settle

#: A map entry is prefetched this number of pages of the victim before it is read.
_AHEAD = 24
#: This number replaces `_AHEAD` when pages are moved one by one.
_SOON = 6


@inlined
def _prefetch_maps(dev, first_page, end_page):
    """Prefetch the map entries of pages whose validity is checked soon."""
    for ppn in range(first_page, end_page):
        prefetch(dev.logical, dev.physical[ppn].lpn)


@inlined
def _next_of_pair(dev, plane, block, moves):
    """Return the next valid page of a victim in the sub-blocks of mask `moves`; -1 if none is left."""
    params = dev.params[0]
    per_sub = params.pages_per_sub_block
    base = block * params.pages_per_block
    # 1. Continue where the last search stopped: no earlier page can have become valid since.
    page = np.int64(plane.round_page)
    while page < params.pages_per_block:
        # 2. Skip a sub-block that is not moved or holds no valid page, without checking its pages.
        s = quotient(page, per_sub)
        sub_block = dev.sub_block[block * params.sub_blocks + s]
        end = s * per_sub + sub_block.written
        if has(moves, s) and sub_block.written > sub_block.invalid:
            if page == s * per_sub:
                _prefetch_maps(dev, base + page, base + min(page + _SOON, end))
            # 3. A page is valid if its logical page is mapped to it.
            while page < end:
                prefetch(dev.physical, base + min(page + _AHEAD, end - 1))
                prefetch(dev.logical, np.int64(dev.physical[base + min(page + _SOON, end - 1)].lpn))
                if dev.logical[dev.physical[base + page].lpn].ppn == base + page:
                    plane.round_page = page
                    return base + page
                page += 1
        page = (s + 1) * per_sub
    # 4. Store that no page is left, since a round of several planes checks this at each of its moves.
    plane.round_page = page
    return np.int64(-1)


@inlined
def _next_of_plane(dev, number):
    """Return the next page that a plane has to move for the round that runs on it, or -1."""
    plane = dev.plane[number]
    leader = np.int64(plane.round_leader)
    while plane.round_pair < dev.plane[leader].round_count:
        pair = dev.round_pairs[leader * MAX_PAIRS + plane.round_pair]
        block = np.int64(pair.block)
        if dev.block[block].plane == number:
            ppn = _next_of_pair(dev, plane, block, pair.mask | neighbours_of(dev.params[0], pair.mask))
            if ppn >= 0:
                return ppn
        plane.round_pair += 1
        plane.round_page = 0
    return np.int64(-1)


@inlined
def _page_in_block(params, ppn):
    return remainder(ppn, params.pages_per_block)


@kernel
def _next_of_planes(dev, leader):
    """Return, of the next pages of a round's planes, the page with the lowest number in its block; or -1."""
    params = dev.params[0]
    first = np.int64(-1)
    for number in range(remainder(leader, params.dies), params.planes, params.dies):
        if dev.plane[number].round_leader == leader:
            ppn = _next_of_plane(dev, number)
            if ppn >= 0 and (first < 0 or _page_in_block(params, ppn) < _page_in_block(params, first)):
                first = ppn
    return first


@inlined
def move_page(dev, plane_number, ppn):
    """Relocate one valid page within its plane; return the new page, or a number below 0 for `status_of`."""
    params = dev.params[0]
    lpn = np.int64(dev.physical[ppn].lpn)
    levels = dev.plane[plane_number].levelling == LEVELLING_RUNS
    target = np.int64(0)
    if levels:
        status = np.int64(ensure_open_for_levelling(dev, plane_number))
        if status != OK:
            return status
    else:
        target = np.int64(placement.relocated_stream(dev, plane_number, lpn, ppn))
        if target < 0:
            return target
        if target < MAX_STREAMS and dev.decider.hooks & ALLOCATES:
            taken = placement.stream_with_room(dev, plane_number, target)
            status = np.int64(manager.ensure_open(dev, plane_number, taken))
            if status != OK:
                return status
    check_page(dev, lpn, ppn)
    version = np.int64(dev.physical[ppn].version)
    if levels:
        copy = np.int64(program_levelled(dev, plane_number, lpn, version))
    else:
        copy = np.int64(placement.place_relocated(dev, plane_number, target, lpn, version))
    if copy < 0:
        return np.int64(OUT_OF_SPACE)
    dev.logical[lpn].ppn = copy
    sub = sub_block_of(params, ppn)
    manager.vacate(dev, block_of(params, sub), sub, 1)
    dev.counters[0].relocated_pages += 1
    page_event(dev, RELOCATED, plane_number, lpn, ppn, copy)
    return copy


@inlined
def _move_next(dev, number, ppn):
    """Move the next page of a plane; return the result of `move_page`."""
    target = move_page(dev, number, ppn)
    if target >= 0:
        dev.plane[number].round_page += 1
    return target


@inlined
def _may_join(dev, number, ppn, page, row):
    """Return whether a plane's next page, `ppn`, may join another plane's move from row `page` to `row`."""
    params = dev.params[0]
    if ppn < 0 or _page_in_block(params, ppn) != page or params.placement == TO_THE_POOL:
        return False
    if is_external(dev, RELOCATE):  # each page is a decision of its own
        return False
    stream = placement.rule_of_relocated(dev, number, np.int64(dev.physical[ppn].lpn), ppn)
    return (
        0 <= stream < MAX_STREAMS
        and manager.row_of(dev, number, placement.stream_with_room(dev, number, stream)) == row
    )


@kernel
def _join_moves(dev, leader, first, page, row):
    """Let siblings join plane `first`'s move from row `page` to `row`; return moved pages or OUT_OF_SPACE."""
    params = dev.params[0]
    pages = 1
    for number in range(remainder(leader, params.dies), params.planes, params.dies):
        if number == first or dev.plane[number].round_leader != leader:
            continue
        ppn = _next_of_plane(dev, number)
        if _may_join(dev, number, ppn, page, row):
            target = _move_next(dev, number, ppn)
            if target < 0:
                return np.int64(OUT_OF_SPACE)
            dev.counters[0].joined_moves += 1
            pages += 1
    return pages


@inlined
def move_command(dev, leader):
    """Carry out a round's next move; return how many pages moved, or a number below 0 for `status_of`."""
    params = dev.params[0]
    several = dev.plane[leader].round_planes > 1
    ppn = _next_of_planes(dev, leader) if several else _next_of_plane(dev, leader)
    if ppn < 0:
        return np.int64(0)
    number = np.int64(plane_of(params, ppn)) if several else leader
    target = _move_next(dev, number, ppn)
    if target < 0:
        return target
    if not several:
        return np.int64(1)
    return _join_moves(dev, leader, number, _page_in_block(params, ppn), _page_in_block(params, target))


@kernel
def finish_round(dev, leader):
    """Erase the set of a round whose valid pages are moved; end foreground GC in planes that need no more."""
    params = dev.params[0]
    count = np.int64(dev.plane[leader].round_count)
    for k in range(count):
        pair = dev.round_pairs[leader * MAX_PAIRS + k]
        manager.erase(dev, np.int64(pair.block), pair.mask)
    if params.endures:
        settle(dev)
    for k in range(count):
        pair = dev.round_pairs[leader * MAX_PAIRS + k]
        plane = dev.plane[dev.block[pair.block].plane]
        plane.round_leader = -1
        if plane.collecting and not gc_unfinished(params, plane):
            plane.collecting = 0
    if params.endures:
        # Worn blocks that still have written sub-blocks are emptied next.
        for k in range(count):
            block = np.int64(dev.round_pairs[leader * MAX_PAIRS + k].block)
            if (dev.block[block].status & (WORN | RETIRED)) == WORN:
                empty_block(dev, block)
    if params.levels:
        # Levelling is due next, if the leading plane needs no further GC.
        own = dev.plane[leader]
        collects = own.levelling != LEVELLING_RUNS and params.levels & LEVELS
        due = collects and not gc_unfinished(params, own)
        own.levelling = LEVELLING_DUE if due else 0


@inlined
def _copy_valid(dev, first_page, end_page, target, room):
    """Copy `room` valid pages, from `first_page` up, to pages from `target` up; return the next source.

    At least `room` valid pages lie before `end_page`. Invalid pages are copied, too, and overwritten by the
    next copy: this avoids mispredicted branches.
    """
    physical, maps = dev.physical, dev.logical
    ppn = first_page
    moved = np.int64(0)
    wrong = np.int64(0)
    _prefetch_maps(dev, ppn, min(ppn + _AHEAD, end_page))
    last = end_page - 1 - _AHEAD
    while moved < room:
        prefetch(maps, np.int64(physical[min(ppn, last) + _AHEAD].lpn))
        page = physical[ppn]
        lpn, version = np.int64(page.lpn), np.int64(page.version)
        program_page(dev, target + moved, lpn, version)
        valid = np.int64(maps[lpn].ppn == ppn)
        wrong += valid & np.int64(maps[lpn].version != version)
        moved += valid
        ppn += 1
    dev.counters[0].lost_pages += wrong
    return ppn


@kernel
def _empty_sub_block(dev, plane_number, source):
    """Relocate all valid pages of a sub-block to stream `gc_stream`; return OK or an error."""
    params, sub_block = dev.params[0], dev.sub_block[source]
    ppn = source * params.pages_per_sub_block
    end = ppn + sub_block.written
    left = sub_block.written - sub_block.invalid
    while left > 0:
        status = manager.ensure_open(dev, plane_number, np.int64(params.gc_stream))
        if status != OK:
            return status
        sub = manager.writable_sub_block(dev, plane_number, params.gc_stream)
        if sub < 0:
            return np.int64(OUT_OF_SPACE)
        room = min(left, params.pages_per_sub_block - dev.sub_block[sub].written)
        target = sub * params.pages_per_sub_block + dev.sub_block[sub].written
        ppn = _copy_valid(dev, ppn, end, target, room)
        for copy in range(target, target + room):
            dev.logical[dev.physical[copy].lpn].ppn = copy
        dev.counters[0].flash_reads += room
        dev.counters[0].relocated_pages += room
        manager.note_relocated(dev, block_of(params, sub), room)
        manager.count_in_stream(dev.stream[plane_number * MAX_STREAMS + params.gc_stream], room, True)
        manager.count_programs(dev, dev.control[0].clock, plane_number, params.gc_stream, sub, room)
        manager.vacate(dev, block_of(params, source), source, room)
        left -= room
    return np.int64(OK)


@inlined
def run_round(dev, leader):
    """Finish the round that a plane leads, untimed; return OK, a decision that is due, or an error."""
    params, followed = dev.params[0], is_external(dev, RELOCATE) or dev.decider.hooks & RELOCATED
    several = dev.plane[leader].round_planes > 1
    # Pages move one by one if several targets are possible, pages may join moves, or hooks follow each page.
    levels = dev.plane[leader].levelling == LEVELLING_RUNS
    if followed or several or levels or params.placement >= BY_RULE:
        pages = np.int64(1)
        while pages > 0:
            pages = move_command(dev, leader)
        if pages < 0:
            return status_of(dev, pages)
    else:
        for k in range(dev.plane[leader].round_count):
            pair = dev.round_pairs[leader * MAX_PAIRS + k]
            moves = pair.mask | neighbours_of(params, pair.mask)
            first = np.int64(pair.block) * params.sub_blocks
            for s in range(params.sub_blocks):
                if has(moves, s):
                    status = _empty_sub_block(dev, leader, first + s)
                    if status != OK:
                        return status
    finish_round(dev, leader)
    return np.int64(OK)
