"""Garbage collection of one plane: when it is needed, what may be erased, and the steps of a round.

A round moves the valid pages of an erase set and then erases it. In time it advances a command at a time, by
the die's rule (:func:`next_valid_page`, :func:`move_page`, :func:`finish_round`), in the foreground or
background; untimed it is carried out in one go (:func:`run_round`), which does the same to the device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from ssdgym.engine.arithmetic import quotient
from ssdgym.engine.best_sets import refresh
from ssdgym.engine.groups import refresh_groups, withdraw
from ssdgym.engine.index import leave_index, leave_pool, lower_fullest
from ssdgym.engine.kernel import function_at, inlined, kernel, merged, prefetch
from ssdgym.engine.layout import (
    HOTNESS_GROUPS,
    INDEXED,
    PAIRS_TYPE,
    PARAMETERS_TYPE,
    POLICY_VIEW_TYPE,
    POOLED,
    SUB_BLOCK_RUN,
    WHOLE_BLOCK,
    policy_view,
)
from ssdgym.engine.masks import NONE, full_mask, has, invalid_in, is_run, neighbours_of, valid_in
from ssdgym.engine.nand import block_of, check_page, count_programs, erase, unit_of, writable_unit
from ssdgym.engine.placement import place_relocated

#: What a call of the engine came back with.
OK, INPUT_ENDED, HORIZON, ERASE_DECISION = 0, 1, 2, 3
OUT_OF_SPACE, NO_VICTIM, ILLEGAL_BLOCK, ILLEGAL_MASK, NOTHING_TO_GAIN, NO_DECISION = -1, -2, -3, -4, -5, -6

#: A victim policy: (PolicyView, plane, parameters, erase set to fill) -> number of pairs filled, 0 for none.
POLICY_SIGNATURE = types.int64(POLICY_VIEW_TYPE, types.int64, PARAMETERS_TYPE, PAIRS_TYPE)
policy_at = function_at(types.FunctionType(POLICY_SIGNATURE))


class Decider(NamedTuple):
    """Who takes decisions: the caller (``external``), or the policy at an address."""

    external: Any  # bool
    address: Any  # int64
    parameters: Any  # (MAX_PARAMETERS,) float64 of the policy
    choice: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch that the policy writes its erase set to


@inlined
def gc_needed(geometry, plane):
    """Does a host program that has just ended in this plane switch foreground GC on?"""
    return plane.free_pages < geometry.low_free or plane.pool_pages < geometry.low_pool


@inlined
def gc_unfinished(geometry, plane):
    """After a round: does foreground GC stay on?"""
    return plane.free_pages < geometry.stop_free or plane.pool_pages < geometry.stop_pool


@inlined
def _wins_enough(dev, geometry, plane, block, mask):
    """Does a set win an invalid page, and where GC goes on until a level is reached, more than its
    neighbours cost?

    A run of few invalid pages between neighbours of many valid ones leaves fewer free pages than before, and
    rounds of such runs would never end.
    """
    invalid = invalid_in(dev, geometry, block, mask)
    if geometry.must_gain or gc_unfinished(geometry, dev.plane[plane]):
        return invalid > valid_in(dev, geometry, block, neighbours_of(geometry, mask))
    return invalid > 0


@inlined
def check_erase_set(dev, geometry, plane, block, mask):
    """OK, or why this erase set may not be erased by this plane now."""
    first = plane * geometry.blocks
    if block < first or block >= first + geometry.blocks or not dev.block[block].status & INDEXED:
        return ILLEGAL_BLOCK
    whole = full_mask(geometry.sub_blocks)
    if mask == NONE or mask & ~whole:
        return ILLEGAL_MASK
    if mask != whole and geometry.erase_unit == WHOLE_BLOCK:
        return ILLEGAL_MASK
    if geometry.erase_unit == SUB_BLOCK_RUN and not is_run(mask):
        return ILLEGAL_MASK
    if not _wins_enough(dev, geometry, plane, block, mask):
        return NOTHING_TO_GAIN
    return OK


@kernel
def start_round(dev, plane_number, block, mask):
    """Check an erase set and make it the plane's running round; returns OK or the reason against it."""
    geometry = dev.geometry[0]
    run = dev.run[0]
    status = check_erase_set(dev, geometry, plane_number, block, mask)
    if status != OK:
        return status
    leave_index(dev, geometry, block)
    if dev.block[block].status & POOLED:
        leave_pool(dev, geometry, block)
    withdraw(dev, geometry, block)
    lower_fullest(dev, geometry, plane_number)
    plane = dev.plane[plane_number]
    plane.job_block = block
    plane.job_mask = mask
    plane.job_moves = mask | neighbours_of(geometry, mask)
    plane.job_page = 0
    run.rounds += 1
    run.gc_invocations += 1
    return OK


@inlined
def choose_victim(dev, geometry, run, plane_number, decider):
    """Get the decision a plane needs: ask outside, or let the policy decide and start the round."""
    refresh(dev, geometry, plane_number)
    refresh_groups(dev, geometry, plane_number)
    if decider.external:
        run.decision_plane = plane_number
        return ERASE_DECISION
    pairs = policy_at(decider.address)(policy_view(dev), plane_number, decider.parameters, decider.choice)
    if pairs != 1:
        return NO_VICTIM
    choice = decider.choice[0]
    return start_round(dev, plane_number, np.int64(choice.block), choice.mask)


@inlined
def _prefetch_maps(dev, first_page, end_page):
    """Some pages will soon be looked at, whether they are valid."""
    for ppn in range(first_page, end_page):
        prefetch(dev.logical, dev.physical[ppn].lpn)


@inlined
def next_valid_page(dev, geometry, plane):
    """The next valid page of the running round from ``job_page`` on, as a page number; -1 if none is left."""
    per_sub = geometry.pages_per_sub_block
    base = plane.job_block * geometry.pages_per_block
    page = np.int64(plane.job_page)
    while page < geometry.pages_per_block:
        s = quotient(page, per_sub)
        sub_block = dev.sub_block[plane.job_block * geometry.sub_blocks + s]
        end = s * per_sub + sub_block.written
        if has(plane.job_moves, s) and sub_block.written > sub_block.invalid:
            if geometry.placement == HOTNESS_GROUPS and page == s * per_sub:
                _prefetch_maps(dev, base + page, base + end)
            while page < end:
                if dev.logical[dev.physical[base + page].lpn].ppn == base + page:
                    plane.job_page = page
                    return base + page
                page += 1
        page = (s + 1) * per_sub
    plane.job_page = page
    return -1


@inlined
def move_page(dev, geometry, run, plane_number, ppn):
    """Relocate one valid page within its plane; returns OK or OUT_OF_SPACE."""
    lpn = np.int64(dev.physical[ppn].lpn)
    check_page(dev, run, lpn, ppn)
    version = np.int64(dev.physical[ppn].version)
    target = place_relocated(dev, geometry, run, plane_number, ppn, lpn, version)
    if target < 0:
        return OUT_OF_SPACE
    dev.logical[lpn].ppn = target
    unit = unit_of(geometry, ppn)
    dev.sub_block[unit].invalid += 1
    dev.block[block_of(geometry, unit)].invalid += 1
    run.relocated_pages += 1
    return OK


@kernel
def finish_round(dev, plane_number):
    """Erase the set of a round without valid pages."""
    plane = dev.plane[plane_number]
    erase(dev, dev.geometry[0], dev.run[0], np.int64(plane.job_block), plane.job_mask)
    plane.job_block = -1


@inlined
def _move_some(dev, geometry, run, first_page, end_page, unit, room):
    """Move valid pages from ``first_page`` on into at most ``room`` pages of an open sub-block.

    Returns (page to go on with, pages moved). The maps are updated; the counts of the target are the
    caller's.
    """
    target = unit * geometry.pages_per_sub_block + dev.sub_block[unit].written
    ppn = first_page
    moved = 0
    wrong = 0
    while ppn < end_page and moved < room:
        page = dev.physical[ppn]
        lpn = np.int64(page.lpn)
        logical = dev.logical[lpn]
        if logical.ppn == ppn:
            version = page.version
            if version != logical.version:
                wrong += 1
            logical.ppn = target + moved
            copy = dev.physical[target + moved]
            copy.lpn = lpn
            copy.version = version
            moved += 1
        ppn += 1
    run.flash_reads += moved
    run.relocated_pages += moved
    run.lost_pages += wrong
    return ppn, moved


@merged
def _scatter_unit(dev, geometry, run, plane_number, source):
    """Relocate the valid pages of a sub-block one by one; returns OK or OUT_OF_SPACE."""
    sub_block = dev.sub_block[source]
    ppn = source * geometry.pages_per_sub_block
    if sub_block.written > sub_block.invalid:
        _prefetch_maps(dev, ppn, ppn + sub_block.written)
    while sub_block.written > sub_block.invalid:
        valid = dev.logical[dev.physical[ppn].lpn].ppn == ppn
        if valid and move_page(dev, geometry, run, plane_number, ppn) != OK:
            return OUT_OF_SPACE
        ppn += 1
    return OK


@inlined
def _empty_unit(dev, geometry, run, plane_number, source):
    """Relocate all valid pages of a sub-block; returns OK or OUT_OF_SPACE."""
    if geometry.placement == HOTNESS_GROUPS:
        return _scatter_unit(dev, geometry, run, plane_number, source)
    sub_block = dev.sub_block[source]
    ppn = source * geometry.pages_per_sub_block
    end = ppn + sub_block.written
    left = sub_block.written - sub_block.invalid
    while left > 0:
        unit = writable_unit(dev, geometry, plane_number, geometry.gc_stream)
        if unit < 0:
            return OUT_OF_SPACE
        room = min(left, geometry.pages_per_sub_block - dev.sub_block[unit].written)
        ppn, moved = _move_some(dev, geometry, run, ppn, end, unit, room)
        count_programs(dev, geometry, run.clock, plane_number, geometry.gc_stream, unit, moved)
        sub_block.invalid += moved
        dev.block[block_of(geometry, source)].invalid += moved
        left -= moved
    return OK


@merged
def run_round(dev, geometry, run, plane_number):
    """Carry the running round of a plane to its end in one go; returns OK or OUT_OF_SPACE."""
    plane = dev.plane[plane_number]
    first = np.int64(plane.job_block) * geometry.sub_blocks
    for s in range(geometry.sub_blocks):
        if has(plane.job_moves, s) and _empty_unit(dev, geometry, run, plane_number, first + s) != OK:
            return OUT_OF_SPACE
    finish_round(dev, plane_number)
    return OK
