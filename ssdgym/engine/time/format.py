"""Make the queues of an empty device of zeroed arrays."""

from __future__ import annotations

from ssdgym.engine.core.kernel import kernel
from ssdgym.engine.time.events import NO_EVENT


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
