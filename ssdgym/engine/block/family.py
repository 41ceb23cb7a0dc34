"""The block family: its empty devices, its loops, and how its decisions are described and carried out."""

import numpy as np

from ssdgym.engine import loop
from ssdgym.engine.block.audit import count_lost_in, first_fault_of
from ssdgym.engine.block.jobs import is_allowed
from ssdgym.engine.block.plans import candidates_of
from ssdgym.engine.block.scheduler import dispatch_die
from ssdgym.engine.block.state import ARRAYS, BlockDevice, BlockState, bind_device
from ssdgym.engine.block.timed import admit_page, page_ended, start_next
from ssdgym.engine.block.untimed import do_next, do_work
from ssdgym.engine.blocks.index import add_block
from ssdgym.engine.core.family import Family
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.core.status import FAULTS, ILLEGAL_ANSWER
from ssdgym.engine.decisions import Decider, store_action
from ssdgym.engine.entries import (
    LOOPS,
    apply_action,
    bind,
    count_lost_pages,
    find_fault,
    format_arrays,
    loop_caller,
    observe,
    run_loop,
)
from ssdgym.engine.observation import observer_by_kind
from ssdgym.engine.time.events import format_control, format_queues
from ssdgym.engine.view import view_of_blocks


@kernel
def _format_plane(dev, number):
    """Let all blocks of a plane be in its pool, and no bundle be one that could be merged."""
    params, plane = dev.params[0], dev.plane[number]
    plane.pool_head = -1
    plane.pool_tail = -1
    dev.job[number].bundle = -1
    for block in range(number * params.blocks, (number + 1) * params.blocks):
        dev.block[block].plane = number
        add_block(dev, number, block)
    buckets = np.int64(dev.merging[0].buckets)
    for bucket in range(number * buckets, (number + 1) * buckets):
        dev.bundle_bucket[bucket].head = -1
        dev.bundle_bucket[bucket].tail = -1


@inlined
def _format(dev):
    params, merging = dev.params[0], dev.merging[0]
    for lpn in range(params.logical_pages):
        dev.logical[lpn].ppn = -1
    for ppn in range(np.int64(params.planes) * params.blocks * params.pages_per_block):
        dev.physical[ppn].lpn = -1
    for place in range(merging.bundles * merging.slots):
        dev.member[place] = -1
    for plane in range(params.planes):
        _format_plane(dev, plane)
    format_queues(dev)
    format_control(dev)


@inlined
def _bind(state, i, rules, external, pairs, address):
    """Store a device; its rules see figures and hook nothing, and the view is for features."""
    view = store_at(view_of_blocks(state, i), address + STORED_BYTES)
    bind_device(state, i, Decider(external, rules, pairs, np.int64(0), view, view, view), address)


@inlined
def _apply_action(dev, chosen, action):
    if not is_allowed(dev, action):
        return np.int64(ILLEGAL_ANSWER)
    return store_action(dev, action, candidates_of(dev))


BLOCK_FAMILY = Family("block", ARRAYS, LOOPS, FAULTS)
bind.of(BlockState)(_bind)
run_loop.of(BlockDevice)(loop_caller(ARRAYS))
loop.do_next.of(BlockDevice)(do_next)
loop.do_work.of(BlockDevice)(do_work)
loop.admit_page.of(BlockDevice)(admit_page)
loop.page_ended.of(BlockDevice)(page_ended)
loop.start_next.of(BlockDevice)(start_next)
loop.dispatch_once.of(BlockDevice)(dispatch_die)
format_arrays.of(BlockDevice)(_format)
count_lost_pages.of(BlockDevice)(count_lost_in)
find_fault.of(BlockDevice)(first_fault_of)
apply_action.of(BlockDevice)(_apply_action)
observe.of(BlockDevice)(observer_by_kind(ARRAYS))
