"""Background GC: which plane an idle die collects, and whether host pages may interrupt a round."""

import numpy as np

from ssdgym.engine import decisions
from ssdgym.engine.blocks.index import most_invalid_block
from ssdgym.engine.core.kernel import helper, inlined, kernel
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.decisions import ANSWERED, IDLE, IDLE_STEPS, ORACLE, PENDING, RESUMED, TO_THE_END
from ssdgym.engine.erase.legality import is_overfull
from ssdgym.engine.flash import duration_of, move_phases, neighbours_of, valid_in
from ssdgym.engine.time.events import NEVER, start_timer, stop_timer

#: The running mean of a die's idle times gives the last idle time the weight 2**-_WEIGHT_BITS.
_WEIGHT_BITS = 3


@helper
def pages_to_move(view, number):
    """Return how many pages a plane still has to move for the round that runs on it; 0 without a round."""
    plane = view.plane[number]
    leader = np.int64(plane.round_leader)
    moves = np.int64(0)
    if leader >= 0:
        for k in range(plane.round_pair, view.plane[leader].round_count):
            pair = view.round_pairs[leader * MAX_PAIRS + k]
            block = np.int64(pair.block)
            if view.block[block].plane == number:
                moves += valid_in(view, block, pair.mask | neighbours_of(view.params[0], pair.mask))
    return moves


@inlined
def takes_host_pages(dev, number):
    """Return whether host pages may be programmed in a plane now: no round runs, or the round is preemptible.

    During a preemptible round, the pool must have room for the round's remaining moves, and one block more.
    """
    params = dev.params[0]
    if dev.plane[number].round_leader < 0:
        return True
    if not params.preemptible:
        return False
    return dev.plane[number].pool_pages >= pages_to_move(dev, number) + np.int64(params.pages_per_block)


@inlined
def background_plane(view, die_number, below_free):
    """Return the plane of a die in which a background round continues or should start, or -1.

    A round starts only in a plane with fewer than `below_free` free pages and an eligible block.
    """
    params = view.params[0]
    best = -1
    for plane in range(die_number, params.planes, params.dies):
        if view.plane[plane].round_leader >= 0:
            return plane
        free = view.plane[plane].free_pages
        scarcest = best < 0 or free < view.plane[best].free_pages
        wanted = free < below_free and scarcest and not is_overfull(params, view.plane[plane])
        if wanted and most_invalid_block(view, plane) >= 0:
            best = plane
    return best


@kernel
def idle_plane(dev, die_number):
    """Return the plane that an idle die collects next, -1 if it stays idle, PENDING if a decision is due."""
    control, die = dev.control[0], dev.die[die_number]
    if not die.idle:
        die.idle = 1
        die.idle_since = control.now
        die.idle_answers = 0
    plane = np.int64(background_plane(dev, die_number, NEVER))
    if plane < 0:
        die.idle_steps = 0
        return np.int64(-1)
    if die.idle_steps > 0:
        return plane
    if decisions.is_external(dev, IDLE):
        action = decisions.request_action(dev, IDLE, plane, die_number)
        if action == PENDING:
            return np.int64(PENDING)
        answer = np.int64(IDLE_STEPS[action])
    else:
        known = dev.decider.hooks & ORACLE != 0 and control.next_arrival_ns >= 0
        gap_ns = control.next_arrival_ns - control.now if known else np.int64(-1)
        answer = np.int64(decisions.idle_by_rule(dev, die_number, gap_ns))
    die.idle_answers += 1
    decisions.die_event(dev, ANSWERED, die_number, answer)
    if answer < 0:
        start_timer(dev, die_number, -answer)
        return np.int64(-1)
    die.idle_steps = min(answer, TO_THE_END)
    return plane if answer > 0 else np.int64(-1)


@kernel
def wake_up(dev, die_number, has_work):
    """Stop the timer of an idle die; if it has work of the host, end its idle time and call hooks."""
    die = dev.die[die_number]
    stop_timer(dev, die_number)
    if has_work:
        gap_ns = dev.control[0].now - die.idle_since
        mean = die.idle_mean_gap_ns
        die.idle = die.idle_steps = 0
        die.idle_gap_ns = gap_ns
        die.idle_mean_gap_ns = gap_ns if mean == 0 else mean + ((gap_ns - mean) >> _WEIGHT_BITS)
        decisions.die_event(dev, RESUMED, die_number, gap_ns)


@helper
def plane_to_collect(view, die_number, blocks, share):
    """Return the plane in which an idle die continues or starts a round, for rules; -1 for none.

    Args:
        view: the rule's view.
        die_number: number of the die.
        blocks: a round starts only in a plane with fewer free pages than this number of blocks has pages.
        share: if above 0, the limit of free pages is instead this share of a plane's pages, rounded up.
    """
    params = view.params[0]
    limit = blocks * params.pages_per_block
    if share > 0:
        limit = np.ceil(share * params.blocks * params.pages_per_block)
    return np.int64(background_plane(view, die_number, limit))


@helper
def move_ns(view):
    """Return the nominal time of a command that relocates one page, ns."""
    return np.int64(duration_of(move_phases(view.params[0], 1)))
