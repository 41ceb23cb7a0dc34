"""Helpers that victim rules are written with: look at blocks, draw them, choose one."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import most_invalid_block
from ssdgym.engine.core.bits import full_mask, remainder
from ssdgym.engine.core.kernel import helper, shared
from ssdgym.engine.core.records import INDEXED
from ssdgym.engine.core.rng import DRAWS_PER_CHOICE, below, draw
from ssdgym.engine.erase.legality import legal_set
from ssdgym.engine.speedupgc.groups import best_of_groups
from ssdgym.engine.speedupgc.trees import best_of_plane


@helper
def choose_block(dev, choice, block):
    """Choose a whole block (or nothing, for block -1); return what a rule has to return.

    Args:
        dev: the rule's view.
        choice: (MAX_PAIRS,) ERASE_PAIR, to write to.
        block: number of the block, -1 for none.

    Returns:
        The number of pairs chosen, 0 or 1.
    """
    if block < 0:
        return 0
    choice[0].block = block
    choice[0].mask = full_mask(dev.params[0].sub_blocks)
    return 1


@helper
def whole_mask(dev):
    """Return the mask of a whole block."""
    return full_mask(dev.params[0].sub_blocks)


@helper
def siblings_of(dev, plane):
    """Yield the other planes of a plane's die, in rising order.

    Args:
        dev: the rule's view.
        plane: number of the plane.

    Yields:
        Their numbers.
    """
    params = dev.params[0]
    for other in range(remainder(plane, params.dies), params.planes, params.dies):
        if other != plane:
            yield other


@shared
def blocks_of(dev, plane):
    """Return the block numbers of a plane.

    Args:
        dev: the rule's view.
        plane: number of the plane.

    Returns:
        A range.
    """
    blocks = dev.params[0].blocks
    return range(plane * blocks, (plane + 1) * blocks)


@helper
def eligible(dev, block):
    """Return whether a block may be a victim: in the index, and with something to gain.

    Args:
        dev: the rule's view.
        block: number of the block.

    Returns:
        A bool.
    """
    record = dev.block[block]
    return (record.status & INDEXED) != 0 and record.invalid >= dev.params[0].least_invalid


@helper
def random_eligible(dev, plane, stream, first_draw):
    """Draw a uniformly random eligible block of a plane.

    Args:
        dev: the rule's view.
        plane: number of the plane.
        stream: of the random numbers.
        first_draw: number of the first of the `DRAWS_PER_CHOICE` draws that are set apart.

    Returns:
        The block, -1 if none is eligible.
    """
    params = dev.params[0]
    decision = dev.control[0].rounds
    first = plane * params.blocks
    for k in range(DRAWS_PER_CHOICE - 1):
        block = first + below(draw(params.seed, stream, decision, first_draw + k), params.blocks)
        if eligible(dev, block):
            return block
    start = below(draw(params.seed, stream, decision, first_draw + DRAWS_PER_CHOICE - 1), params.blocks)
    for k in range(params.blocks):
        block = first + (start + k) % params.blocks
        if eligible(dev, block):
            return block
    return -1


@helper
def choose_best_set(dev, plane, choice):
    """Choose the best set of a plane; return what a rule has to return.

    Where it would win no pages although it has to, and on a device that erases whole blocks only, the whole
    block with most invalid pages is chosen.

    Args:
        dev: the rule's view.
        plane: number of the plane.
        choice: (MAX_PAIRS,) ERASE_PAIR, to write to.

    Returns:
        The number of pairs chosen, 0 or 1.
    """
    params = dev.params[0]
    block = np.int64(-1)
    if params.tree_leaves > 0:
        block = best_of_plane(dev, plane)
    elif params.groups > 0:
        block = best_of_groups(dev, plane)
    if block >= 0:
        choice[0].block = block
        choice[0].mask = dev.best[block].mask
        if legal_set(dev, plane, choice, 1):
            return 1
    return choose_block(dev, choice, most_invalid_block(dev, plane))
