"""The audit of best sets, orders of blocks and block groups: by exhaustive search, and by counting."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ssdgym.baselines.placements.block_groups import WRITABLE, WRITABLE_BEST
from ssdgym.engine.core.family import State
from ssdgym.engine.core.handle import MEMORY_FIELDS, Memory
from ssdgym.engine.core.records import INDEXED, OPEN, POOLED, SOFTWARE, SUB_BLOCK_RUN
from ssdgym.engine.decisions import ERASE, PLACE
from ssdgym.engine.view import PolicyView, memory_start, view_arrays
from ssdgym.policy.on_device import rules_on
from ssdgym.simulator import Simulator
from tests.engine.audit import Device

BEST_SETS = "a best set is not the best"
ORDERS = "the first block of an order is not the best"
GROUPS = "block groups are too large, out of order or miscounted"
WRITABLE_BLOCKS = "the writable blocks of a group are miscounted"
UNSORTED = "the blocks of a group are not a heap"


def kept_by(sim: Simulator) -> PolicyView | None:
    """Return what the rule that keeps best sets sees, a placement or a victim rule; None where none does.

    None, too, until the rule begins on the device, at the next advance: nothing is kept before.
    """
    victim = None if sim.policy is None else sim.policy.victim
    begun = int(sim.state.control["attached"][0, 0])
    rules = ((PLACE, "place", rules_on(sim.device)[0].memory), (ERASE, "victim", victim and victim.memory))
    for kind, role, memory in rules:
        if memory and memory.block is not None and "mask" in (memory.block.names or ()):
            return view_arrays(sim.state, 0, memory, role) if begun & 1 << kind else None
    return None


def writable_view(state: State, memory: Memory, role: str = "place") -> PolicyView:
    """Return what a rule sees, for its kernels to be called by Python."""
    arrays = {}
    for name in PolicyView._fields:
        array = getattr(state, name)[0]
        record = getattr(memory, MEMORY_FIELDS[name]) if name in MEMORY_FIELDS else None
        if record is not None:
            array = array[memory_start(state, 0, name, role) :]
            array = array[: len(array) // record.itemsize * record.itemsize].view(record)
        arrays[name] = array
    return PolicyView(**arrays)


def tables_fault(sim: Simulator) -> Iterator[str]:
    """Yield the faults of best sets and of what is kept with them; those that wait may be out of date."""
    view = kept_by(sim)
    if view is None:
        return
    d, grouped = Device(sim.state, 0), "group" in view.block_memory.dtype.names
    for plane in range(d.planes):
        best = view.block_memory[d.of_plane(plane)]
        if ((best["stale"] == 0) & ~_are_best(d, best, plane, grouped)).any():
            yield BEST_SETS
        for order in ("victim", "target"):
            head = f"{order}_head"
            streams = view.stream_memory
            if head in streams.dtype.names and not best["stale"].any():
                yield from _order_faults(d, view, plane, order)
        if grouped:
            yield from group_faults(d, view, plane)


def _benefit(d: Any, gain: int, moves: int) -> Fraction:
    params = d.params[0]
    return Fraction(int(gain), int(moves) * int(params["copy_cost"]) + int(params["erase_cost"]))


@functools.cache
def _runs(sub_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last sub-block of every run."""
    return np.triu_indices(sub_blocks)


def _are_best(d: Any, best: np.ndarray, plane: int, grouped: bool) -> np.ndarray:
    """Return of each block of a plane whether the set kept for it is the best one; every run is tried."""
    params, own = d.params[0], d.of_plane(plane)
    status = d.block["status"][own]
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
    return right | (grouped & (status & (INDEXED | OPEN | POOLED) == 0))


def _order_faults(d: Any, view: PolicyView, plane: int, order: str) -> Iterator[str]:
    """Check the first block of an order whose blocks are all looked at."""
    if view.stream_memory[plane * int(d.params["streams"][0])][f"{order}_head"] > 0:
        return
    found = []
    for block in range(plane * d.blocks, (plane + 1) * d.blocks):
        best, mask, status = (
            view.block_memory[block],
            int(view.block_memory[block]["mask"]),
            d.block["status"][block],
        )
        belongs = status & INDEXED if order == "victim" else status & POOLED
        if belongs and mask:
            first = -int(best["writable"]) if order == "target" else 0
            tie = mask.bit_count() << 6 | (mask & -mask).bit_length() - 1
            found.append((first, -_benefit(d, best["gain"], best["moves"]), tie, block))
    root = view.block_memory[plane * d.blocks + 1][f"{order}_winner"] - 1
    if root != (min(found)[-1] if found else -1):
        yield ORDERS


def _rank(d: Any, view: PolicyView, block: int) -> tuple[Fraction, int, int]:
    """Return what ranks are sorted by, the largest first."""
    own = view.block_memory[block]
    return -_benefit(d, own["rank_gain"], own["rank_moves"]), int(own["rank_tie"]), int(block)


def group_faults(d: Any, view: PolicyView, plane: int) -> Iterator[str]:
    """Yield the faults of the groups of a plane."""
    for group in range(int(view.memory[0]["groups"])):
        yield from _faults_of_group(d, view, plane, group)


def _faults_of_group(d: Any, view: PolicyView, plane: int, group: int) -> Iterator[str]:
    """Check a group's blocks, those that can be written, and its order among the groups and within."""
    first, own = plane * d.blocks, view.block_memory["group"][d.of_plane(plane)]
    table = view.table[plane * int(view.memory[0]["plane_words"]) :]
    groups, limit, words = int(view.memory[0]["groups"]), int(view.memory[0]["limit"]), -(-d.blocks // 32)
    heaps, bits = table[groups:], table[groups + groups * (limit + 1) :]
    blocks = [first + int(k) for k in np.flatnonzero(own == group)]
    for block in blocks:
        shown, place = view.block_memory[block]["shown"], block - first
        if bool(d.block["status"][block] & POOLED) != (shown >= WRITABLE):
            yield WRITABLE_BLOCKS
        for kind, least in enumerate((WRITABLE, WRITABLE_BEST)):
            word = int(bits[(2 * group + kind) * (words + -(-words // 32)) + place // 32])
            if bool(word >> place % 32 & 1) != (shown >= least):
                yield WRITABLE_BLOCKS
    heap = heaps[group * (limit + 1) :][: table[group]].tolist()
    if sorted(heap) != blocks or len(blocks) > limit:
        yield GROUPS
    below = [_rank(d, view, first + int(k))[0] for k in np.flatnonzero(own < group)]
    if blocks and below and min(below) < max(_rank(d, view, block)[0] for block in blocks):
        yield GROUPS  # of negated benefits: one below is above the smallest here
    ranks = [_rank(d, view, block) for block in heap]
    places = view.block_memory["place"][heap].tolist()
    too_high = (k for k in range(1, len(heap)) if ranks[(k - 1) // 2] < ranks[k])
    if places != list(range(len(heap))) or any(too_high):
        yield UNSORTED
