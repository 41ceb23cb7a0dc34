"""The block family: its operations, its empty devices, and how its decisions are carried out."""

import numpy as np

from ssdgym.engine import entries, operations
from ssdgym.engine.block import host
from ssdgym.engine.block.bundles import forget_page
from ssdgym.engine.block.jobs import is_allowed
from ssdgym.engine.block.plans import candidates_of
from ssdgym.engine.block.state import ARRAYS, bind_device
from ssdgym.engine.blocks.index import add_block
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.core.status import ILLEGAL_ANSWER
from ssdgym.engine.decisions import Decider, store_action
from ssdgym.engine.observation import observer_by_kind
from ssdgym.engine.time.events import format_queues
from ssdgym.engine.view import VICTIM, view_of


@kernel
def _format_plane(dev, number):
    """Put all blocks of a plane into its pool, and make its buckets of bundles empty."""
    params, plane = dev.params[0], dev.plane[number]
    plane.pool_head = plane.pool_tail = dev.job[number].bundle = -1
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        dev.block[block].plane = number
        add_block(dev, number, block)
    buckets = np.int64(dev.merging[0].buckets)
    for bucket in range(number * buckets, (number + 1) * buckets):
        dev.bundle_bucket[bucket].head = dev.bundle_bucket[bucket].tail = -1


@inlined
def _format(dev):
    params, merging = dev.params[0], dev.merging[0]
    for ppn in range(np.int64(params.planes) * params.blocks * params.pages_per_block):
        dev.physical[ppn].lpn = -1
    for place in range(merging.bundles * merging.slots):
        dev.member[place] = -1
    for plane in range(params.planes):
        _format_plane(dev, plane)
    format_queues(dev)


@inlined
def _bind(state, i, rules, external, pairs, address):
    """Store a device. Only features use the view: merge rules receive the candidates and hook no events."""
    view = store_at(view_of(state, i, VICTIM), address + STORED_BYTES)
    bind_device(state, i, Decider(external, rules, pairs, np.int64(0), view, view, view, view), address)


@inlined
def _apply_action(dev, chosen, action):
    if not is_allowed(dev, action):
        return np.int64(ILLEGAL_ANSWER)
    return store_action(dev, action, candidates_of(dev))


BLOCK_FAMILY = entries.add_family(
    "block",
    ARRAYS,
    {
        operations.family_bind: _bind,
        operations.family_format: _format,
        operations.family_apply_action: _apply_action,
        operations.family_observe: observer_by_kind(ARRAYS),
        operations.family_forget_page: forget_page,
        operations.family_host_read: host.host_read,
        operations.family_do_work: host.do_work,
        operations.family_do_write: host.do_write,
        operations.family_queue_read: host.queue_read,
        operations.family_queue_write: host.queue_write,
        operations.family_dispatch: host.dispatch_die,
    },
)
