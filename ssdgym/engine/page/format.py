"""Make an empty device of zeroed arrays."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import join_pool
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.speedupgc.groups import form_groups
from ssdgym.engine.time.format import format_queues

_NO_HORIZON = np.int64(2**62)


@kernel
def _format_plane(dev, number):
    params = dev.params[0]
    plane = dev.plane[number]
    pages = np.int64(params.blocks) * params.pages_per_block
    plane.free_pages = pages
    plane.pool_head = -1
    plane.pool_tail = -1
    plane.dirty_head = -1
    plane.age_head = -1
    plane.age_tail = -1
    plane.round_leader = -1
    first = number * params.blocks
    for block in range(first, first + params.blocks):
        dev.block[block].plane = number
        join_pool(dev, block)
    for bucket in range(number * (params.pages_per_block + 1), (number + 1) * (params.pages_per_block + 1)):
        dev.bucket[bucket].head = -1
        dev.bucket[bucket].tail = -1
    for slot in range(number * MAX_STREAMS, (number + 1) * MAX_STREAMS):
        dev.open_sub_block[slot] = -1
    if params.groups > 0:
        form_groups(dev, number)


@inlined
def format_page_device(dev):
    """Turn zeroed arrays, but for the parameters, into an empty device."""
    params = dev.params[0]
    control = dev.control[0]
    for lpn in range(params.logical_pages):
        dev.logical[lpn].ppn = -1
    pages = np.int64(params.planes) * params.blocks * params.pages_per_block
    for ppn in range(pages):
        dev.physical[ppn].lpn = -1
    if params.tree_leaves > 0:
        dev.tree[:] = -1
    for plane in range(params.planes):
        _format_plane(dev, plane)
    format_queues(dev)
    control.horizon = _NO_HORIZON
    control.decision_plane = -1
    control.answer = -1
    control.gc_plane = -1
    control.slot = -1
    control.write_head = -1
