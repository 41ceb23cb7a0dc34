"""Make an empty device of zeroed arrays."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.format import add_block, format_plane
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.page.host.buffer import format_buffer
from ssdgym.engine.speedupgc.groups import form_groups
from ssdgym.engine.time.format import format_control, format_queues


@inlined
def format_page_device(dev):
    """Turn zeroed arrays, but for the parameters, into an empty device."""
    params = dev.params[0]
    for lpn in range(params.logical_pages):
        dev.logical[lpn].ppn = -1
    pages = np.int64(params.planes) * params.blocks * params.pages_per_block
    for ppn in range(pages):
        dev.physical[ppn].lpn = -1
    if params.tree_leaves > 0:
        dev.tree[:] = -1
    for plane in range(params.planes):
        format_plane(dev, plane)
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            add_block(dev, plane, block)
        if params.groups > 0:
            form_groups(dev, plane)
    format_buffer(dev)
    format_queues(dev)
    format_control(dev)
