"""Make the queues of an empty device, and what it waits for, of zeroed arrays."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.time.events import NO_EVENT

_NO_HORIZON = np.int64(2**62)


@kernel
def format_queues(dev):
    """Let dies and channels wait for nothing, and all places of transactions and requests be free."""
    params = dev.params[0]
    control = dev.control[0]
    for number in range(params.dies):
        dev.die[number].read_head = -1
        dev.die[number].write_head = -1
    for number in range(params.channels):
        dev.channel[number].waiter_head = -1
    for number in range(params.window_pages):
        dev.transaction[number].next = number + 1
        dev.slot[number].next = number + 1
    control.free_transactions = params.window_pages
    for node in range(2 << params.leaf_bits):
        dev.event[node] = NO_EVENT


@inlined
def format_control(dev):
    """Let a device wait for nothing and be stopped by nothing."""
    control = dev.control[0]
    control.horizon = _NO_HORIZON
    control.decision_plane = -1
    control.answer = -1
    control.gc_plane = -1
    control.slot = -1
    control.write_head = -1
