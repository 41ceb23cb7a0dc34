"""GC rounds: when a plane needs GC, how the erase set of a round is chosen, and how the round starts."""

import numpy as np

from ssdgym.engine.blocks.index import most_invalid_block
from ssdgym.engine.blocks.manager import lose_pages, withdraw_block
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.core.status import END_OF_LIFE, NO_VICTIM, OK
from ssdgym.engine.decisions import ERASE, decision_code, erase_set_by, is_external, request_action
from ssdgym.engine.erase.legality import check_erase_set, choose_block, gc_unfinished, is_overfull
from ssdgym.engine.flash import valid_in
from ssdgym.engine.operations import family_can_move, family_run_round, family_settle


@inlined
def gc_needed(params, plane):
    """Return whether foreground GC has to start in a plane in which a host page has been programmed."""
    return plane.free_pages < params.low_free or plane.pool_pages < params.low_pool


@kernel
def _is_short(dev, number):
    params, plane = dev.params[0], dev.plane[number]
    if plane.collecting:
        return False
    return plane.pool_pages < params.floor_pool and not is_overfull(params, plane)


@inlined
def is_short(dev, number):
    """Return whether a plane whose cells wear out must be collected before it takes a host page."""
    return dev.params[0].endures != 0 and _is_short(dev, number)


@inlined
def set_pair(dev, leader, k, block, mask):
    """Store pair `k` of the round that a plane leads."""
    pair = dev.round_pairs[leader * MAX_PAIRS + k]
    pair.block = block
    pair.mask = mask


@kernel
def give_up(dev, plane_number):
    """Give up a plane that has lost too many blocks to be collected: no page is programmed there any more."""
    plane = dev.plane[plane_number]
    lose_pages(dev, plane_number, max(dev.params[0].valid_limit - plane.gone_pages, 0))
    plane.collecting = 0
    family_settle(dev)


@inlined
def begin_round(dev, leader, pairs, count):
    """Start the round of an erase set in all planes of its blocks."""
    dev.plane[leader].round_count = count
    dev.plane[leader].round_planes = 0
    for k in range(count):
        block = np.int64(pairs[k].block)
        mask = pairs[k].mask
        number = np.int64(dev.block[block].plane)
        valid = valid_in(dev, block, mask)
        dev.counters[0].victim_valid_pages += valid
        dev.counters[0].max_victim_valid_pages = max(dev.counters[0].max_victim_valid_pages, valid)
        withdraw_block(dev, block, valid)
        set_pair(dev, leader, k, block, mask)
        plane = dev.plane[number]
        if plane.round_leader < 0:
            plane.round_leader = leader
            plane.round_pair = k
            plane.round_page = 0
            dev.plane[leader].round_planes += 1


@kernel
def start_round(dev, leader, pairs, count):
    """Check an erase set, and start its round; return OK, or the status that says why the set is illegal.

    If lost blocks leave no room for the set's moves, the block with most invalid pages is collected instead.
    """
    status = check_erase_set(dev, leader, pairs, count)
    if status != OK:
        return status
    if dev.params[0].endures and not family_can_move(dev, leader, pairs, count):
        pairs = dev.decider.pairs
        count = np.int64(choose_block(dev, pairs, most_invalid_block(dev, leader)))
    begin_round(dev, leader, pairs, count)
    dev.control[0].rounds += 1
    dev.counters[0].gc_invocations += 1
    return OK


@inlined
def choose_victim(dev, plane_number):
    """Choose an erase set for a plane by the victim rule, and start its round; return a status.

    If the decision is taken outside the engine, it becomes due. If lost blocks leave no room to collect any
    block, the plane is given up: OK is returned, and no round starts.
    """
    decider = dev.decider
    if dev.params[0].endures:
        pairs = choose_block(dev, decider.pairs, most_invalid_block(dev, plane_number))
        if pairs == 0 or not family_can_move(dev, plane_number, decider.pairs, pairs):
            give_up(dev, plane_number)
            return np.int64(OK)
    if is_external(dev, ERASE):
        request_action(dev, ERASE, plane_number, 0)
        return decision_code(dev)
    pairs = erase_set_by(decider.rules[ERASE], decider.victim_view, plane_number, decider.pairs)
    if pairs < 1:
        return NO_VICTIM
    return start_round(dev, plane_number, decider.pairs, pairs)


@inlined
def ensure_round(dev, plane_number):
    """Start a round on a plane unless one runs there; return OK, a decision that is due, or an error."""
    if dev.plane[plane_number].round_leader >= 0:
        return np.int64(OK)
    return np.int64(choose_victim(dev, plane_number))


@inlined
def has_round(dev, plane_number):
    """Return whether a round runs on a plane."""
    return dev.plane[plane_number].round_leader >= 0


@inlined
def unfinished_plane(dev):
    """Return the lowest plane whose round still has to empty a worn block; -1 for none."""
    if dev.params[0].endures and dev.params[0].sub_blocks > 1:  # one sub-block: an erase empties the block
        for plane in range(np.int64(dev.params[0].planes)):
            if has_round(dev, plane):
                return plane
    return np.int64(-1)


@kernel
def collect(dev):
    """Carry out a round in plane `control.gc_plane`, untimed; return OK, a due decision, or an error."""
    control = dev.control[0]
    number = np.int64(control.gc_plane)
    status, unfinished = ensure_round(dev, number), False
    if status == OK and has_round(dev, number):
        status = np.int64(family_run_round(dev, number))
        unfinished = has_round(dev, number) or gc_unfinished(dev.params[0], dev.plane[number])
    if status == OK and not unfinished:
        control.gc_plane = unfinished_plane(dev)
    return np.int64(END_OF_LIFE) if is_over(dev) else status


@inlined
def collecting_plane(dev, die_number):
    """Return the die's lowest-numbered plane in foreground GC, or -1."""
    params = dev.params[0]
    for plane in range(die_number, params.planes, params.dies):
        if dev.plane[plane].collecting:
            return np.int64(plane)
    return np.int64(-1)
