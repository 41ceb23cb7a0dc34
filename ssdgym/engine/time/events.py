"""The event queue: the event tree, the channels' queues, the ready queue of dies.

A resource (channels first, then dies) has at most one pending event, so (time, resource number) orders events
completely, and a tree of minima over the resources finds the first: a fixed path from leaf to root, without
branches to mispredict.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.lists import queue_verbs

#: The leaf of a resource without an event.
NO_EVENT = np.int64(2**63 - 1)
#: Later than any time.
NEVER = np.int64(2**62)

_push_waiter, _pop_waiter = queue_verbs("waiter_head", "waiter_tail", "next_waiter")


@inlined
def _set_leaf(dev, resource, key):
    """Set a leaf and the minima on the way to the root."""
    params = dev.params[0]
    leaves = np.int64(1) << np.int64(params.leaf_bits)
    node = resource + leaves
    dev.event[node] = key
    while node > 1:
        key = min(key, dev.event[node ^ 1])
        node >>= 1
        dev.event[node] = key


@inlined
def latest_ns(params):
    """Return when a device stops: commands that start before it end at a time that fits a key."""
    return np.int64(1) << (np.int64(62) - params.leaf_bits)


@inlined
def schedule(dev, time_ns, resource):
    """Set the resource's event.

    Its key is time and resource in one number, so that a minimum needs one comparison.
    """
    params = dev.params[0]
    _set_leaf(dev, resource, (time_ns << np.int64(params.leaf_bits)) | resource)


@inlined
def cancel(dev, resource):
    """Remove the resource's event."""
    _set_leaf(dev, resource, NO_EVENT)


@inlined
def next_event_ns(dev):
    """Return the time of the first event, NEVER if there is none."""
    params = dev.params[0]
    key = dev.event[1]
    if key == NO_EVENT:
        return NEVER
    return key >> np.int64(params.leaf_bits)


@inlined
def take_event(dev):
    """Remove the first event and return its resource."""
    params = dev.params[0]
    resource = dev.event[1] & ((np.int64(1) << np.int64(params.leaf_bits)) - 1)
    cancel(dev, resource)
    return resource


@inlined
def make_ready(dev, die_number):
    """Put a die at the tail of the ready queue, unless it is in it."""
    params = dev.params[0]
    control = dev.control[0]
    die = dev.die[die_number]
    if die.ready:
        return
    die.ready = 1
    position = control.ready_head + control.ready_count
    if position >= params.dies:
        position -= params.dies
    dev.ready[position] = die_number
    control.ready_count += 1


@inlined
def take_ready(dev):
    """Take the die at the head of the ready queue (which is not empty)."""
    params = dev.params[0]
    control = dev.control[0]
    die_number = np.int64(dev.ready[control.ready_head])
    control.ready_head += 1
    if control.ready_head == params.dies:
        control.ready_head = 0
    control.ready_count -= 1
    dev.die[die_number].ready = 0
    return die_number


@inlined
def channel_is_free(dev, die_number, now):
    """Return whether the die can have its channel at once."""
    params = dev.params[0]
    channel = dev.channel[remainder(die_number, params.channels)]
    return channel.free_at <= now and channel.waiter_head < 0


@inlined
def wait_for_channel(dev, die_number):
    """Join the channel's queue; the first to wait schedules the channel's next event."""
    params = dev.params[0]
    number = remainder(die_number, params.channels)
    channel = dev.channel[number]
    if channel.waiter_head < 0:
        schedule(dev, channel.free_at, number)
    _push_waiter(dev.die, channel, die_number)


@inlined
def take_waiter(dev, channel_number):
    """Take the die at the head of a channel's queue."""
    return np.int64(_pop_waiter(dev.die, dev.channel[channel_number]))
