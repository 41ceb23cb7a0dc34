"""Wear levelling: which free block is opened, and which block is emptied."""

import numpy as np

from ssdgym.policy import (
    LEVELLING_RUNS,
    POLICY_STREAM,
    allocation_policy,
    blocks_of,
    draw,
    erases_of,
    is_closed,
    kernel,
    least_worn_closed,
    least_worn_free,
    levelling_policy,
    most_worn_free,
)

#: The pools of `dual_pool`.
HOT, COLD = 1, 2


@allocation_policy("first_freed", source="folklore")
def first_freed(view, plane, stream, parameters):
    """Open the block that was freed first, as devices without an allocation do: first in, first out."""
    return view.plane[plane].pool_head


@allocation_policy(
    "least_worn",
    source="dynamic wear levelling: Gal and Toledo, ACM Computing Surveys 37(2), 2005, section 3",
)
def least_worn(view, plane, stream, parameters):
    """Open the free block that was erased least, of equals the one that was freed first.

    Blocks that hold cold data are never free and keep their few erases: they are for static wear levelling.
    """
    return least_worn_free(view, plane)


@allocation_policy("most_worn", source="a bound of ours")
def most_worn(view, plane, stream, parameters):
    """Open the free block that was erased most, of equals the one that was freed first."""
    return most_worn_free(view, plane)


@levelling_policy(
    "wear_threshold",
    source="static wear levelling of MQSim (Tavakkol et al., FAST 2018; GC_and_WL_Unit_Base.cpp)",
    parameters={"threshold": 100},
    minimum={"threshold": 1},
)
def wear_threshold(view, plane, parameters):
    """Empty the least worn closed block of a plane once another one was erased `threshold` times more."""
    closed, most = least_worn_closed(view, plane), 0
    if closed < 0:
        return -1
    for block in blocks_of(view, plane):
        most = max(most, erases_of(view, block))
    limit = parameters.threshold * view.params[0].sub_blocks
    return closed if most - erases_of(view, closed) >= limit else -1


@levelling_policy(
    "progressive",
    source="PWL (Chen et al., DATE 2015); written from the abstract, the schedule is ours",
    parameters={"endurance": 3000, "share": 0.1, "least": 2},
    minimum={"endurance": 1, "share": 0.0, "least": 1},
    maximum={"share": 1.0},
)
def progressive(view, plane, parameters):
    """Empty the least worn block once a free block was erased so much more that it may wear out first.

    The difference allowed is `share` of the erases that the free block has left of `endurance`, and at least
    `least`: early in the life of a device nothing moves.
    """
    worn, cold = most_worn_free(view, plane), least_worn_closed(view, plane)
    if worn < 0 or cold < 0:
        return -1
    erases, sub_blocks = erases_of(view, worn), view.params[0].sub_blocks
    left = parameters.share * (parameters.endurance * sub_blocks - erases)
    return cold if erases - erases_of(view, cold) > max(left, parameters.least * sub_blocks) else -1


@levelling_policy(
    "rejuvenator",
    source="Rejuvenator (Murugan and Du, MSST 2011); written from the abstract and descriptions of it",
    parameters={"tau": 16},
    minimum={"tau": 1},
)
def rejuvenator(view, plane, parameters):
    """Empty the least worn block once all free blocks are worn ones.

    Blocks with fewer than `tau / 2` erases above the least worn closed block are for hot data. When none of
    them is free, cold data of that one move to a worn block. Rejuvenator also sends hot data to the less worn
    half: name the allocation `least_worn` beside it. Here `tau` stays as it is.
    """
    free, closed = least_worn_free(view, plane), least_worn_closed(view, plane)
    if free < 0 or closed < 0:
        return -1
    spread = erases_of(view, free) - erases_of(view, closed)
    return closed if 2 * spread >= parameters.tau * view.params[0].sub_blocks else -1


@levelling_policy(
    "greedy_mp",
    source="Greedy-MP (Shin, Appl. Sci. 14(18), 8186, 2024); written from the abstract",
    parameters={"threshold": 8},
    minimum={"threshold": 1},
)
def greedy_mp(view, plane, parameters):
    """Move cold data to a free block that was erased `threshold` times more than the mean of the plane.

    Cold is the block that was closed longest ago of those erased less than the mean. Greedy-MP also keeps
    blocks that have taken such data out of garbage collection, which is left to the victim rule here.
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
def _pool_of(view, block):
    """Return the pool that a block is in; every other block begins in each."""
    joined = view.block_memory[block].pool
    return joined if joined else HOT + block % 2


@levelling_policy(
    "dual_pool",
    source="Chang, SAC 2007; written from descriptions of the algorithm, without the text",
    parameters={"threshold": 16},
    minimum={"threshold": 1},
    block=[("since", "i4"), ("pool", "u1")],
)
def dual_pool(view, plane, parameters):
    """Empty the least worn block of the cold pool once a free block has been erased `threshold` times more.

    1. Blocks are in two pools. The emptied block joins the hot one, and the worn block that takes its pages
       the cold one, where it is left alone (cold-data migration).
    2. At each erase, before it counts: the block of the cold pool that was erased most since it joined goes
       to the hot one if that is more than `threshold` times more than some block of the hot pool since that
       joined (cold-pool adjustment).
    3. And the least worn block of the hot pool goes to the cold one if some block of the hot pool was erased
       more than `2 * threshold` times more (hot-pool adjustment).
    """
    worn = most_worn_free(view, plane)
    best, fewest = -1, 0
    for block in blocks_of(view, plane):
        if _pool_of(view, block) == COLD and is_closed(view, block):
            erases = erases_of(view, block)
            if best < 0 or erases < fewest:
                best, fewest = block, erases
    limit = parameters.threshold * view.params[0].sub_blocks
    return best if worn >= 0 and best >= 0 and erases_of(view, worn) - fewest > limit else -1


@kernel
def _join(view, block, pool):
    record = view.block_memory[block]
    record.pool = pool
    record.since = erases_of(view, block)


@dual_pool.on("collected")
def emptied(view, plane, block, parameters):
    """Let a block that is emptied to level wear join the hot pool."""
    if view.plane[plane].levelling == LEVELLING_RUNS:
        _join(view, block, HOT)


@dual_pool.on("opened")
def filled(view, plane, block, parameters):
    """Let the block that takes its pages join the cold pool."""
    if view.plane[plane].levelling == LEVELLING_RUNS:
        _join(view, block, COLD)


@dual_pool.on("erased")
def adjust(view, plane, block, parameters):
    """Move blocks between the pools whose data has changed its temperature."""
    limit = parameters.threshold * view.params[0].sub_blocks
    warmed, most = -1, 0
    spared, least = -1, 0
    for other in blocks_of(view, plane):
        recent = erases_of(view, other) - view.block_memory[other].since
        if _pool_of(view, other) == COLD:
            if warmed < 0 or recent > most:
                warmed, most = other, recent
        elif spared < 0 or recent < least:
            spared, least = other, recent
    if warmed >= 0 and spared >= 0 and most - least > limit:
        _join(view, warmed, HOT)
    first, fewest, largest = -1, 0, 0
    for other in blocks_of(view, plane):
        if _pool_of(view, other) == HOT:
            erases = erases_of(view, other)
            if first < 0 or erases < fewest:
                first, fewest = other, erases
            largest = max(largest, erases)
    if first >= 0 and largest - fewest > 2 * limit:
        _join(view, first, COLD)


@kernel
def _sets(view, k):
    """Return the sets of a plane, of `2**k` blocks each but for the last one."""
    return (np.int64(view.params[0].blocks) + (np.int64(1) << k) - 1) >> k


@kernel
def _flag_of(view, plane, k, number):
    """Return the record that holds the flag of a set: that of its first block."""
    return view.block_memory[plane * np.int64(view.params[0].blocks) + (number << k)]


@levelling_policy(
    "swl",
    source="Chang, Hsieh and Kuo, DAC 2007; written from descriptions of the algorithm, without the text",
    parameters={"threshold": 100, "k": 0},
    minimum={"threshold": 1, "k": 0},
    maximum={"k": 16},
    block=[("flag", "u1")],
    stream=[("erases", "i8"), ("flags", "i4"), ("next", "i4")],
)
def swl(view, plane, parameters):
    """Empty a block that was not erased lately while erases per flag are `threshold` or more.

    1. The block erasing table has a flag for each set of `2**k` blocks, set when one of them is erased.
    2. While the erases since the last reset are at least `threshold` for each flag that is set, the next set
       without a flag, in cyclic order, is levelled. Here one closed block of it moves behind each round of
       collection; sets without one are passed.
    3. When all flags are set and the erases are so many, all begins anew, at a random set.
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
    """Count an erase, set the flag of its set, and begin anew where all are set."""
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
        state.erases = 0
        state.flags = 0
