"""Make the books of an empty plane of zeroed arrays."""

from __future__ import annotations

from ssdgym.engine.blocks.index import join_pool
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS


@kernel
def format_plane(dev, number):
    """Make a plane whose pool and index are empty, and that has no open block."""
    params = dev.params[0]
    plane = dev.plane[number]
    plane.pool_head = -1
    plane.pool_tail = -1
    plane.dirty_head = -1
    plane.age_head = -1
    plane.age_tail = -1
    plane.round_leader = -1
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        dev.block[block].plane = number
    for bucket in range(number * (params.pages_per_block + 1), (number + 1) * (params.pages_per_block + 1)):
        dev.bucket[bucket].head = -1
        dev.bucket[bucket].tail = -1
    for slot in range(number * MAX_STREAMS, (number + 1) * MAX_STREAMS):
        dev.open_sub_block[slot] = -1


@inlined
def add_block(dev, number, block):
    """Give an erased block to the pool of a plane."""
    dev.plane[number].free_pages += dev.params[0].pages_per_block
    join_pool(dev, block)
