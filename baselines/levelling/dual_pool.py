"""The dual-pool algorithm: cold data rest on worn blocks."""

from ssdgym.policy import (
    LEVELLING_RUNS,
    blocks_of,
    erases_of,
    is_closed,
    kernel,
    levelling_policy,
    most_worn_free,
)

HOT, COLD = 1, 2


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
