"""Refresh: what has been kept or read too long is moved, a block at a time, as in rounds of collection.

A read of the host that finds such data, and the end of a day, begin a patrol of the plane, which looks at
each block once. See `docs/aging.md`.
"""

import numpy as np

from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import entry, inlined, kernel
from ssdgym.engine.core.records import INDEXED, REFRESHES
from ssdgym.engine.core.status import AGAIN, OK
from ssdgym.engine.flash import block_of, plane_of, sub_block_of
from ssdgym.engine.page.aging import error_rate, note_read, unaged_rate
from ssdgym.engine.page.levelling import levelling_plane, levels_next, start_levelling
from ssdgym.engine.rounds import begin_round, has_round


@kernel
def _is_stale(dev, block):
    """Return whether a block can be emptied, and holds data whose rate is too high and would be lower."""
    params, limit = dev.params[0], dev.error_model[0].refresh_above
    if dev.block[block].status & INDEXED == 0:
        return False
    for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
        holds = dev.sub_block[sub].written > dev.sub_block[sub].invalid
        if holds and unaged_rate(dev, sub) <= limit < error_rate(dev, sub):
            return True
    return False


@kernel
def _begin_patrol(dev, number):
    """Begin a patrol of a plane, unless one is under way; without time it comes before the next page."""
    control, patrol = dev.control[0], dev.patrol[number]
    if patrol.next == 0:
        patrol.next = 1
        if not dev.params[0].timed and control.gc_plane < 0:
            control.gc_plane = dev.params[0].planes + number


@kernel
def note_host_read(dev, ppn, requested):
    """Note a read of a page for the host, and begin a patrol if what it `requested` is stale."""
    params = dev.params[0]
    note_read(dev, ppn)
    if requested and params.levels & REFRESHES:
        block = block_of(params, sub_block_of(params, ppn))
        if _is_stale(dev, np.int64(block)):
            _begin_patrol(dev, np.int64(plane_of(params, ppn)))


@kernel
def note_move(dev, number, ppn):
    """Note a read of a page of a plane that is relocated."""
    note_read(dev, ppn)
    dev.aging[0].refreshed_pages += dev.patrol[number].runs


@inlined
def refreshes_next(dev, number):
    """Return whether a patrol of a plane goes on before its next round."""
    return dev.patrol[number].next > 0 and not has_round(dev, number) and not dev.plane[number].collecting


@kernel
def start_refresh(dev, number):
    """Let a patrol go on to the next stale block of a plane, and start a round that empties it.

    Returns OK, or AGAIN where there is none; without free pages for the moves, and a block for the host, the
    patrol is over.
    """
    params, patrol = dev.params[0], dev.patrol[number]
    blocks = np.int64(params.blocks)
    has_room = dev.plane[number].pool_pages >= 2 * np.int64(params.pages_per_block)
    within = np.int64(patrol.next) - 1 if has_room else blocks
    while within < blocks and not _is_stale(dev, number * blocks + within):
        within += 1
    if within == blocks:
        patrol.next = 0
        return np.int64(AGAIN)
    patrol.next = within + 1
    patrol.runs = 1
    pairs = dev.decider.pairs
    pairs[0].block = number * blocks + within
    pairs[0].mask = full_mask(params.sub_blocks)
    begin_round(dev, number, pairs, 1)
    dev.aging[0].refreshes += 1
    return np.int64(OK)


@kernel
def end_refresh(dev, number):
    """Return whether the round that ends in a plane is a refresh, which is over then."""
    if dev.params[0].levels & REFRESHES == 0 or not dev.patrol[number].runs:
        return False
    dev.patrol[number].runs = 0
    return True


# -- with levelling, which goes first


@kernel
def following_plane(dev, die_number):
    """Return the die's lowest plane in which wear is levelled, or else a patrol is under way; -1 for none."""
    params = dev.params[0]
    plane = np.int64(levelling_plane(dev, die_number))
    if plane < 0 and params.levels & REFRESHES:
        for number in range(die_number, params.planes, params.dies):
            if dev.patrol[number].next > 0:
                return np.int64(number)
    return plane


@kernel
def start_following(dev, number):
    """Start the round of levelling or refresh that is due in a plane, if one is.

    Returns OK, also where none is; AGAIN where nothing is to be moved; the decision that is due outside; or
    an error.
    """
    if levels_next(dev, number):
        return np.int64(start_levelling(dev, number))
    if dev.params[0].levels & REFRESHES and refreshes_next(dev, number):
        return np.int64(start_refresh(dev, number))
    return np.int64(OK)


# -- without time


@kernel
def plane_to_patrol(dev):
    """Return the number of planes plus the lowest plane whose patrol goes on; -1 for none."""
    params = dev.params[0]
    if params.levels & REFRESHES:
        for number in range(np.int64(params.planes)):
            if refreshes_next(dev, number):
                return np.int64(params.planes + number)
    return np.int64(-1)


@entry
def begin_patrols(dev):
    """Begin a patrol of every plane, which comes next where the device goes on without time."""
    control = dev.control[0]
    if dev.params[0].levels & REFRESHES:
        for number in range(np.int64(dev.params[0].planes)):
            _begin_patrol(dev, number)
    if control.gc_plane < 0:
        control.gc_plane = plane_to_patrol(dev)
