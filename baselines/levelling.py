"""Allocations and levelling rules. The erases of a block are the mean of the erases of its sub-blocks."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ssdgym.baselines.orders import both, fields_of, follow
from ssdgym.policy import (
    LEVELLING_RUNS,
    POLICY_STREAM,
    POOLED,
    allocation_policy,
    block_order,
    blocks_of,
    draw,
    erases_of,
    is_closed,
    kernel,
    least_worn_free,
    levelling_policy,
    most_worn_free,
)

#: Numbers of the two pools of `dual_pool`.
HOT, COLD = 1, 2


@kernel
def _is_lower(view, a, b):
    return a < b


@kernel
def _is_freed_before(view, a, b):
    ours, theirs = view.block_memory[a].freed, view.block_memory[b].freed
    return ours < theirs if ours != theirs else a < b


@kernel
def _is_free(view, block):
    return view.block[block].status & POOLED != 0


@kernel
def _erases_negated(view, block):
    return -erases_of(view, block)


def _by(name: str, belongs: Callable, key: Callable, tie: Callable = _is_lower) -> Any:
    """Make an order by rising `key` of the blocks that `belongs` selects; `tie` orders those of equal key."""

    @kernel
    def before(view, a, b):
        ours, theirs = key(view, a), key(view, b)
        return ours < theirs if ours != theirs else tie(view, a, b)

    return block_order(name, belongs, before)


_LEAST_WORN = _by("least", _is_free, erases_of, _is_freed_before)
_CLOSED = _by("closed", is_closed, erases_of)
_next_to_open, _note_free, _least_worn_closed = _LEAST_WORN.first, _LEAST_WORN.touch, _CLOSED.first


@allocation_policy("first_freed", source="folklore")
def first_freed(view, plane, stream, parameters):
    """Open the block that was freed first (first in, first out), as devices without an allocation rule do."""
    return view.plane[plane].pool_head


@allocation_policy(
    "least_worn",
    source="dynamic wear levelling: Gal and Toledo, ACM Computing Surveys 37(2), 2005, section 3",
    block=[("freed", "i8"), *_LEAST_WORN.block],
    stream=[("freed", "i8"), *_LEAST_WORN.stream],
)
def least_worn(view, plane, stream, parameters):
    """Open the free block that was erased least; on a tie, the one that was freed first.

    Blocks that hold cold data are never free, so they wear little; only a levelling rule erases them.
    """
    return _next_to_open(view, plane)


follow(least_worn, _LEAST_WORN.touch, "erased")


@least_worn.on("recycled")
def freed(view, plane, block, parameters):
    """Store a rising number for the block, which has just joined the plane's pool."""
    last = view.stream_memory[plane * view.params[0].streams]
    last.freed += 1
    view.block_memory[block].freed = last.freed
    _note_free(view, block)


@kernel
def _is_any(view, block):
    return True


_WORN = _by("worn", _is_any, _erases_negated)
_most_worn_of_all = _WORN.first


@levelling_policy(
    "wear_threshold",
    source="static wear levelling of MQSim (Tavakkol et al., FAST 2018; GC_and_WL_Unit_Base.cpp)",
    parameters={"threshold": (100, 1)},
    **fields_of(_CLOSED, _WORN),
)
def wear_threshold(view, plane, parameters):
    """Empty the least erased closed block if a block of the plane has at least `threshold` more erases."""
    closed, most = _least_worn_closed(view, plane), _most_worn_of_all(view, plane)
    limit = parameters.threshold * view.params[0].sub_blocks
    return closed if closed >= 0 and erases_of(view, most) - erases_of(view, closed) >= limit else -1


follow(wear_threshold, both(_CLOSED.touch, _WORN.touch), "erased")


@levelling_policy(
    "progressive",
    source="PWL (Chen et al., DATE 2015); written from the abstract, the schedule is ours",
    parameters={"endurance": (3000, 1), "share": (0.1, 0.0, 1.0), "least": (2, 1)},
    **fields_of(_CLOSED),
)
def progressive(view, plane, parameters):
    """Empty the least erased closed block if the most erased free block exceeds it by too many erases.

    The allowed difference is `share` of the erases that the free block has left until `endurance`, but at
    least `least`. The difference is largest for a new device, so data moves mostly late in its life.
    """
    worn, cold = most_worn_free(view, plane), _least_worn_closed(view, plane)
    if worn < 0 or cold < 0:
        return -1
    erases, sub_blocks = erases_of(view, worn), view.params[0].sub_blocks
    left = parameters.share * (parameters.endurance * sub_blocks - erases)
    return cold if erases - erases_of(view, cold) > max(left, parameters.least * sub_blocks) else -1


follow(progressive, _CLOSED.touch, "erased")


@levelling_policy(
    "rejuvenator",
    source="Rejuvenator (Murugan and Du, MSST 2011); written from the abstract and descriptions of it",
    parameters={"tau": (16, 1)},
    **fields_of(_CLOSED),
)
def rejuvenator(view, plane, parameters):
    """Empty the least erased closed block if every free block has at least `tau / 2` more erases.

    Free blocks with fewer erases are for hot data; if there is none, cold data moves to a worn block. To
    write hot data to less worn blocks, as the paper does, add the allocation `least_worn`. `tau` is constant.
    """
    free, closed = least_worn_free(view, plane), _least_worn_closed(view, plane)
    if free < 0 or closed < 0:
        return -1
    spread = erases_of(view, free) - erases_of(view, closed)
    return closed if 2 * spread >= parameters.tau * view.params[0].sub_blocks else -1


follow(rejuvenator, _CLOSED.touch, "erased")


@levelling_policy(
    "greedy_mp",
    source="Greedy-MP (Shin, Appl. Sci. 14(18), 8186, 2024); written from the abstract",
    parameters={"threshold": (8, 1)},
)
def greedy_mp(view, plane, parameters):
    """Empty a cold block if a free block has over `threshold` more erases than the mean of the plane.

    The cold block is the one closed longest ago among those with fewer erases than the mean. In the paper, a
    block that has received such data is no victim of garbage collection; here the victim rule may choose it.
    """
    params, worn = view.params[0], most_worn_free(view, plane)
    total = 0
    for block in blocks_of(view, plane):
        total += erases_of(view, block)
    excess = params.blocks * erases_of(view, max(worn, 0)) - total
    if worn < 0 or excess <= parameters.threshold * params.sub_blocks * params.blocks:
        return -1
    coldest = -1
    for block in blocks_of(view, plane):
        may_move = is_closed(view, block) and params.blocks * erases_of(view, block) < total
        if may_move and (coldest < 0 or view.block[block].closed_at < view.block[coldest].closed_at):
            coldest = block
    return coldest


@kernel
def _is_cold(view, block):
    """Return whether a block is in the cold pool; at the start, the blocks with odd numbers are."""
    pool = view.block_memory[block].pool
    return pool == COLD or (pool == 0 and block % 2 == 1)


@kernel
def _is_hot(view, block):
    return not _is_cold(view, block)


@kernel
def _is_cold_and_closed(view, block):
    return _is_cold(view, block) and is_closed(view, block)


@kernel
def _recent(view, block):
    """Return the erases of a block since it joined its pool."""
    return erases_of(view, block) - view.block_memory[block].since


@kernel
def _recent_negated(view, block):
    return -_recent(view, block)


_COLDEST = _by("coldest", _is_cold_and_closed, erases_of)
_WARMED = _by("warmed", _is_cold, _recent_negated)
_SPARED = _by("spared", _is_hot, _recent)
_FEWEST = _by("fewest", _is_hot, erases_of)
_LARGEST = _by("largest", _is_hot, _erases_negated)
_coldest, _warmed, _spared = _COLDEST.first, _WARMED.first, _SPARED.first
_fewest, _largest = _FEWEST.first, _LARGEST.first
_POOLS = (_COLDEST, _WARMED, _SPARED, _FEWEST, _LARGEST)
_OF_POOLS = fields_of(*_POOLS)


@levelling_policy(
    "dual_pool",
    source="Chang, SAC 2007; written from descriptions of the algorithm, without the text",
    parameters={"threshold": (16, 1)},
    block=[("since", "i4"), ("pool", "u1"), *_OF_POOLS["block"]],
    stream=_OF_POOLS["stream"],
)
def dual_pool(view, plane, parameters):
    """Empty the least erased closed block of the cold pool if a free block has over `threshold` more erases.

    1. Every block is in the hot or the cold pool. The emptied block joins the hot pool; the worn block that
       its pages move to joins the cold pool (cold-data migration).
    2. Recent erases are those since a block joined its pool. Before each erase, the cold block with most of
       them moves to the hot pool if a block there has over `threshold` fewer (cold-pool adjustment).
    3. Then the least erased block of the hot pool moves to the cold pool if a block of the hot pool has over
       `2 * threshold` more erases (hot-pool adjustment).
    """
    worn, cold = most_worn_free(view, plane), _coldest(view, plane)
    if worn < 0 or cold < 0:
        return -1
    limit = parameters.threshold * view.params[0].sub_blocks
    return cold if erases_of(view, worn) - erases_of(view, cold) > limit else -1


_note_in_pools = reduce(both, [order.touch for order in _POOLS])
follow(dual_pool, _note_in_pools)


@kernel
def _join(view, block, pool):
    record = view.block_memory[block]
    record.pool = pool
    record.since = erases_of(view, block)
    _note_in_pools(view, block)


@dual_pool.on("collected")
def emptied(view, plane, block, parameters):
    """Move the block to the hot pool if it is a victim of a levelling round."""
    _note_in_pools(view, block)
    if view.plane[plane].levelling == LEVELLING_RUNS:
        _join(view, block, HOT)


@dual_pool.on("opened")
def filled(view, plane, block, parameters):
    """Move the block to the cold pool if it is opened for the pages of a levelling round."""
    _note_in_pools(view, block)
    if view.plane[plane].levelling == LEVELLING_RUNS:
        _join(view, block, COLD)


@dual_pool.on("erased")
def adjust(view, plane, block, parameters):
    """Carry out steps 2 and 3 of `dual_pool`."""
    limit = parameters.threshold * view.params[0].sub_blocks
    warmed, spared = _warmed(view, plane), _spared(view, plane)
    if warmed >= 0 and spared >= 0 and _recent(view, warmed) - _recent(view, spared) > limit:
        _join(view, warmed, HOT)
    fewest, largest = _fewest(view, plane), _largest(view, plane)
    if fewest >= 0 and erases_of(view, largest) - erases_of(view, fewest) > 2 * limit:
        _join(view, fewest, COLD)
    _note_in_pools(view, block)


@kernel
def _sets(view, k):
    """Return the number of sets of `2**k` blocks in a plane; the last set may have fewer blocks."""
    return (np.int64(view.params[0].blocks) + (np.int64(1) << k) - 1) >> k


@kernel
def _flag_of(view, plane, k, number):
    """Return the record that holds the flag of a set: the record of its first block."""
    return view.block_memory[plane * np.int64(view.params[0].blocks) + (number << k)]


@levelling_policy(
    "swl",
    source="Chang, Hsieh and Kuo, DAC 2007; written from descriptions of the algorithm, without the text",
    parameters={"threshold": (100, 1), "k": (0, 0, 16)},
    block=[("flag", "u1")],
    stream=[("erases", "i8"), ("flags", "i4"), ("next", "i4")],
)
def swl(view, plane, parameters):
    """Empty a block of a set that was not erased lately, if the erases were concentrated on few sets.

    1. The block erasing table has a flag for each set of `2**k` blocks. An erase of a block sets the flag of
       its set.
    2. The limit is `threshold` times the number of flags set. After each GC round in which the erases since
       the last reset are at the limit or above, a block of the next set without a flag is emptied. The order
       of sets is cyclic; sets without a closed block are skipped.
    3. When the limit is reached and all flags are set, erases and flags are reset to 0, and the search for
       the next set begins at a random set.
    """
    state, k = view.stream_memory[plane * view.params[0].streams], np.int64(parameters.k)
    if state.flags == 0 or state.erases < parameters.threshold * state.flags:
        return -1
    blocks, sets = np.int64(view.params[0].blocks), _sets(view, k)
    for step in range(sets):
        number = (state.next + step) % sets
        if _flag_of(view, plane, k, number).flag == 0:
            for block in range(number << k, min((number + 1) << k, blocks)):
                if is_closed(view, plane * blocks + block):
                    return plane * blocks + block
    return -1


@swl.on("erased")
def update_table(view, plane, block, parameters):
    """Count an erase, set the flag of the block's set, and carry out step 3 of `swl`."""
    state, k = view.stream_memory[plane * view.params[0].streams], np.int64(parameters.k)
    blocks, sets = np.int64(view.params[0].blocks), _sets(view, k)
    number = (block - plane * blocks) >> k
    state.erases += 1
    record = _flag_of(view, plane, k, number)
    state.flags += record.flag == 0
    record.flag = 1
    if view.plane[plane].levelling == LEVELLING_RUNS:
        state.next = (number + 1) % sets
    if state.flags == sets and state.erases >= parameters.threshold * sets:
        for other in range(sets):
            _flag_of(view, plane, k, other).flag = 0
        drawn = draw(view.params[0].seed, POLICY_STREAM, view.control[0].rounds, 0)
        state.next = np.int64(drawn >> np.uint64(33)) % sets
        state.erases = state.flags = 0
