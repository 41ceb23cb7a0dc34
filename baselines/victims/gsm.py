"""Victims are the sub-blocks of highest benefit: greedy scanning method (GSM), performance booster (PB).

The record of a block stores its best set (E43), which is searched again at the next choice after a change.
"""

from typing import Any, NamedTuple

import numpy as np

from ssdgym.baselines.orders import follow
from ssdgym.baselines.victims.table_bytes import best_set_bytes, tree_bytes
from ssdgym.policy import (
    INDEXED,
    best_set_from,
    block_order,
    choose_block,
    cost_of,
    first_writable,
    kernel,
    legal_set,
    most_invalid_block,
    next_by_invalid,
    tie_of,
    victim_policy,
    whole_mask,
)

#: Record of a block: the mask of its best set (0 = none), the set's invalid pages and moves, whether the set
#: has unwritten pages, and whether the record is out of date.
BEST_SET = [("mask", "u8"), ("gain", "i4"), ("moves", "i4"), ("writable", "u1"), ("stale", "u1")]
#: The mask of no sub-block.
NOTHING = np.uint64(0)
#: Placements that have these records, which a victim rule then shares.
KEEPING = ("hot_to_victims", "hotness_groups")


class Rank(NamedTuple):
    """A set by its benefit, gain / (moves * copy cost + erase cost)."""

    gain: Any  # invalid pages of the set
    moves: Any  # valid pages to relocate
    tie: Any  # `tie_of` the mask; of equal benefits, the lower number comes first
    block: Any  # -1 for no set


@kernel
def make_rank(gain, moves, tie, block):
    """Return a rank with fields of type int64."""
    return Rank(np.int64(gain), np.int64(moves), np.int64(tie), np.int64(block))


@kernel
def exceeds(params, a, b):
    """Return whether the benefit of rank `a` is above that of rank `b`."""
    return a.gain * cost_of(params, b.moves) > b.gain * cost_of(params, a.moves)


@kernel
def is_larger(params, a, b):
    """Return whether rank `a` comes before `b`: by benefit, on a tie by lower `tie`, then by lower block."""
    ours, theirs = a.gain * cost_of(params, b.moves), b.gain * cost_of(params, a.moves)
    if ours != theirs:
        return ours > theirs
    return a.tie < b.tie if a.tie != b.tie else a.block < b.block


@kernel
def _rank_of(view, block):
    own = view.block_memory[block]
    return make_rank(own.gain, own.moves, tie_of(own.mask), block)


@kernel
def beats(view, a, b):
    """Return whether the best set of block `a` is chosen before that of `b`."""
    return is_larger(view.params[0], _rank_of(view, a), _rank_of(view, b))


@kernel
def renew(view, block):
    """Search the best set of a block again if it may have changed."""
    own = view.block_memory[block]
    if own.stale:
        guess, own.stale = own.mask, 0
        own.mask, own.gain, own.moves = 0, 0, 0
        if view.block[block].status & INDEXED:
            own.mask, own.gain, own.moves = best_set_from(view, block, guess)
        own.writable = first_writable(view, block, own.mask) >= 0


@kernel
def _can_be_erased(view, block):
    renew(view, block)
    return view.block[block].status & INDEXED != 0 and view.block_memory[block].mask != 0


by_benefit = block_order("victim", _can_be_erased, beats)
note, next_victim = by_benefit.touch, by_benefit.first


@kernel
def choose_set(view, plane, choice, block, mask):
    """Choose a set of a block; if it is illegal or `block` is -1, the whole block with most invalid pages."""
    if block >= 0:
        choice[0].block = block
        choice[0].mask = mask
        if legal_set(view, plane, choice, 1):
            return 1
    return choose_block(view, choice, most_invalid_block(view, plane))


def by_search(view, plane, parameters, choice):
    """Choose as `gsm` does, but without records: search every block that may have the best set."""
    params = view.params[0]
    best, best_mask = make_rank(0, 0, 0, -1), whole_mask(view)
    block = most_invalid_block(view, plane)
    while block >= 0:
        if view.block[block].invalid * cost_of(params, best.moves) < best.gain * params.erase_cost:
            break  # later blocks have no more invalid pages, so their sets are no better
        mask, gain, moves = best_set_from(view, block, NOTHING)
        found = make_rank(gain, moves, tie_of(mask), block)
        if best.block < 0 or is_larger(params, found, best):
            best, best_mask = found, mask
        block = next_by_invalid(view, plane, block)
    return choose_set(view, plane, choice, best.block, best_mask)


def table_bytes(device: Any) -> int:
    """Return the bytes that a controller would need for the best sets and the order of all blocks."""
    return best_set_bytes(device) + tree_bytes(device)


@kernel
def _choose_best(view, plane, choice):
    block = next_victim(view, plane)
    return choose_set(view, plane, choice, block, view.block_memory[max(block, 0)].mask)


_BY_BEST_SETS: dict[str, Any] = {
    "block": [*BEST_SET, *by_benefit.block],
    "stream": by_benefit.stream,
    "shares_memory_with": KEEPING,
    "equivalent": by_search,
    "controller_bytes": table_bytes,
}


@victim_policy(
    "gsm",
    source="Chang et al., CODES+ISSS 2016; as a baseline of SpeedupGC, section IV",
    erase_unit="sub_block_run",
    isolation="software",
    **_BY_BEST_SETS,
)
def gsm(view, plane, parameters, choice):
    """Choose the best set of the plane (E43): the run of sub-blocks of the highest benefit (E42).

    The benefit includes moves of the run's neighbours. If the run is illegal because it gains no pages,
    choose the whole block with most invalid pages.
    """
    return _choose_best(view, plane, choice)


@victim_policy(
    "pb",
    source="Chen et al., DAC 2016; as a baseline of SpeedupGC, sections III-E and IV",
    erase_unit="sub_block_set",
    isolation="hardware",
    **_BY_BEST_SETS,
)
def pb(view, plane, parameters, choice):
    """Choose the best set of the plane (E43): those sub-blocks of a block that have most invalid pages.

    Their number is that of the highest benefit (E42). If the set is illegal because it gains no pages, choose
    the whole block with most invalid pages.
    """
    return _choose_best(view, plane, choice)


def keep_best_sets(rule: Any, touch: Any) -> None:
    """Make a rule call `touch(view, block)` for every block whose best set may have changed."""

    @rule.on("invalidated")
    def invalidated(view, plane, lpn, old_page, page, parameters):
        touch(view, old_page // view.params[0].pages_per_block)

    follow(rule, touch)


@kernel
def touch(view, block):
    """Mark that the best set of a block may have changed."""
    view.block_memory[block].stale = 1
    note(view, block)


keep_best_sets(gsm, touch)
keep_best_sets(pb, touch)
