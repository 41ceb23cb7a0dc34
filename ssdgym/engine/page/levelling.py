"""Static wear levelling: after a GC round, the valid pages of a block may move to a worn block.

A decision is due in a plane whose GC has ended. A levelling round empties and erases the chosen block. It
runs in the foreground, after foreground GC of the die's other planes.
"""

import numpy as np

from ssdgym.engine.blocks.manager import is_in
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import INDEXED, LEVELLING_DUE, LEVELLING_RUNS
from ssdgym.engine.core.status import AGAIN, NOT_CLOSED, OK
from ssdgym.engine.decisions import LEVEL, PENDING, decision_code, is_external, level_by, request_action
from ssdgym.engine.rounds import begin_round


@inlined
def levelling_plane(dev, first, step):
    """Return the lowest of planes `first`, `first + step`, ... where levelling is due or runs; or -1."""
    for plane in range(first, dev.params[0].planes, step):
        if dev.plane[plane].levelling:
            return np.int64(plane)
    return np.int64(-1)


@inlined
def levels_next(dev, number):
    """Return whether a decision about levelling is due in a plane before the plane's next round."""
    plane = dev.plane[number]
    return plane.levelling == LEVELLING_DUE and plane.round_leader < 0 and not plane.collecting


@kernel
def start_levelling(dev, number):
    """Decide which block of a plane is emptied to level wear, and start the levelling round.

    Returns OK, AGAIN if no block is emptied, a decision that is due outside the engine, or an error. If the
    pool has fewer unwritten pages than two blocks have pages, no block is emptied.
    """
    params, plane = dev.params[0], dev.plane[number]
    block = np.int64(-1)
    if plane.pool_pages >= 2 * np.int64(params.pages_per_block):
        if is_external(dev, LEVEL):
            answer = request_action(dev, LEVEL, number, 0)
            if answer == PENDING:
                return decision_code(dev)
            block = answer - 1
        else:
            block = level_by(dev, number)
    if block == -1:
        plane.levelling = 0
        return np.int64(AGAIN)
    if not is_in(dev, number, block, INDEXED):
        return np.int64(NOT_CLOSED)
    plane.levelling = LEVELLING_RUNS
    pairs = dev.decider.pairs
    pairs[0].block = block
    pairs[0].mask = full_mask(params.sub_blocks)
    begin_round(dev, number, pairs, 1)
    dev.counters[0].levelling_rounds += 1
    return np.int64(OK)
