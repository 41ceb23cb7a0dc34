"""The audit of best sets, trees and block groups of SpeedupGC: by exhaustive search, and by counting."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ssdgym.engine.core.records import HOT_TO_VICTIMS, INDEXED, OPEN, POOLED, SOFTWARE, SUB_BLOCK_RUN
from ssdgym.engine.speedupgc.best_sets import WRITABLE, WRITABLE_BEST
from ssdgym.engine.speedupgc.groups import words_of
from ssdgym.engine.speedupgc.heaps import HIGH, LOW, TARGETS, VICTIMS

BEST_SETS = "a best set is not the best"
TREES = "a tree of best sets is broken"
GROUPS = "block groups are too large, out of order or miscounted"
WRITABLE_BLOCKS = "the writable blocks of a group are miscounted"
HEAPS = "the heaps of a group are broken"


def tables_fault(d: Any, plane: int) -> Iterator[str]:
    """Yield the faults of a plane's tables; blocks on the dirty list may be out of date."""
    params = d.params[0]
    is_due = (params["groups"] != 0) | (d.best["dirty"][d.of_plane(plane)] == 0)
    if (is_due & ~_are_best(d, plane)).any():
        yield BEST_SETS
    if params["tree_leaves"] and d.plane["dirty_head"][plane] < 0:
        trees = (VICTIMS, TARGETS) if params["placement"] == HOT_TO_VICTIMS else (VICTIMS,)
        for tree in trees:
            root = (tree * d.planes + plane) * 2 * int(params["tree_leaves"])
            if d.tree[root + 1] != _winner(d, plane, tree):
                yield TREES
    yield from group_faults(d, plane)


def _benefit(d: Any, gain: int, moves: int) -> Fraction:
    params = d.params[0]
    return Fraction(int(gain), int(moves) * int(params["copy_cost"]) + int(params["erase_cost"]))


@functools.cache
def _runs(sub_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last sub-block of every run."""
    return np.triu_indices(sub_blocks)


def _are_best(d: Any, plane: int) -> np.ndarray:
    """Return of each block of a plane whether the set kept for it is the best one; every run is tried."""
    params, own = d.params[0], d.of_plane(plane)
    best, status = d.best[own], d.block["status"][own]
    mask, invalid = best["mask"].astype(np.uint64), d.subs(plane, "invalid")
    valid = d.subs(plane, "written") - invalid

    bits = (mask[:, None] >> np.arange(d.sub_blocks, dtype=np.uint64) & np.uint64(1)) != 0
    moved, beside = bits.copy(), params["isolation"] == SOFTWARE
    if beside:
        moved[:, 1:] |= bits[:, :-1]
        moved[:, :-1] |= bits[:, 1:]
    gain, moves = (invalid * bits).sum(axis=1), (valid * moved).sum(axis=1)
    is_counted = (gain == best["gain"]) & (moves == best["moves"])
    # Sums of the sub-blocks in front of each, so that those of a run are differences.
    won, left = (np.pad(np.cumsum(pages, axis=1), ((0, 0), (1, 0))) for pages in (invalid, valid))
    first, last = _runs(d.sub_blocks)
    if params["erase_unit"] != SUB_BLOCK_RUN:
        first, last = np.array([0]), np.array([d.sub_blocks - 1])
    gains = won[:, last + 1] - won[:, first]
    moved_of_runs = (
        left[:, np.minimum(last + 1 + beside, d.sub_blocks)] - left[:, np.maximum(first - beside, 0)]
    )
    costs, cost = (
        pages * int(params["copy_cost"]) + int(params["erase_cost"]) for pages in (moved_of_runs, moves)
    )
    is_best = (gains * cost[:, None] <= costs * gain[:, None]).all(axis=1)
    can_win = (status & INDEXED != 0) & (d.block["invalid"][own] > 0)
    right = np.where(can_win, is_counted & is_best, mask == 0)
    # With groups a victim keeps the set it had.
    return right | ((params["groups"] != 0) & (status & (INDEXED | OPEN | POOLED) == 0))


def _winner(d: Any, plane: int, tree: int) -> int:
    """Return the block that should be at the root of a tree, -1 for none."""
    found = []
    for block in range(plane * d.blocks, (plane + 1) * d.blocks):
        best, mask = d.best[block], int(d.best["mask"][block])
        if d.block["status"][block] & INDEXED and mask and (tree == VICTIMS or best["writable"]):
            first = -int(best["writable"]) if tree == TARGETS else 0
            tie = mask.bit_count() << 6 | (mask & -mask).bit_length() - 1
            found.append((first, -_benefit(d, best["gain"], best["moves"]), tie, block))
    return min(found)[-1] if found else -1


def _order(d: Any, gain: int, moves: int, tie: int, block: int) -> tuple[Fraction, int, int]:
    """Return what ranks are sorted by, the largest first."""
    return -_benefit(d, gain, moves), int(tie), int(block)


def _rank(d: Any, block: int) -> tuple[Fraction, int, int]:
    best = d.best[block]
    return _order(d, best["rank_gain"], best["rank_moves"], best["rank_tie"], block)


def group_faults(d: Any, plane: int) -> Iterator[str]:
    """Yield the faults of the groups of a plane, if it has any."""
    for group in range(int(d.params["groups"][0])):
        yield from _faults_of_group(d, plane, group)


def _faults_of_group(d: Any, plane: int, group: int) -> Iterator[str]:
    """Check a group's size, its writable blocks, its order among the groups, and its heaps."""
    params, first = d.params[0], plane * d.blocks
    number, own = plane * int(params["groups"]) + group, d.best["group"][first : first + d.blocks]
    blocks = [first + int(k) for k in np.flatnonzero(own == group)]
    words, summary = words_of(d.blocks)
    for block in blocks:
        writable, place = d.best["writable"][block], block - first
        if bool(d.block["status"][block] & POOLED) != (writable >= WRITABLE):
            yield WRITABLE_BLOCKS
        for kind, least in enumerate((WRITABLE, WRITABLE_BEST)):
            word = int(d.group_bits[(2 * number + kind) * (words + summary) + place // 64])
            if bool(word >> place % 64 & 1) != (writable >= least):
                yield WRITABLE_BLOCKS
    if len(blocks) != d.group_size[number] or len(blocks) > params["group_limit"]:
        yield GROUPS
    below = [_rank(d, first + int(k))[0] for k in np.flatnonzero(own < group)]
    if blocks and below and min(below) < max(_rank(d, block)[0] for block in blocks):
        yield GROUPS  # of negated benefits: one below is above the smallest here
    if not all(_heap_is_right(d, number, group, heap) for heap in (LOW, HIGH)):
        yield HEAPS


def _heap_is_right(d: Any, number: int, group: int, heap: int) -> bool:
    """Return whether a heap is in order.

    Every block of it has its place, is no nearer to the root than the entry above, and its entry is no
    farther from the root than its rank.
    """

    def is_before(a: Any, b: Any) -> bool:
        return bool(a < b if heap == HIGH else b < a)

    base = (2 * number + heap) * (int(d.params["group_limit"][0]) + 1)
    entries = []
    for place in range(int(d.group_size[number])):
        entry = d.heap[base + place]
        best = d.best[entry["block"]]
        entries.append(_order(d, *(entry[name] for name in ("gain", "moves", "tie", "block"))))
        if best["group"] != group or best["low" if heap == LOW else "high"] != place:
            return False
        if is_before(_rank(d, int(entry["block"])), entries[place]):
            return False
        if place > 0 and is_before(entries[place], entries[place - 1 >> 1]):
            return False
    return True
