"""The clockwork of event-driven time: the event heap, the channels' queues, the ready queue of dies.

A resource (channels first, then dies) has at most one pending event, so (time, resource number) orders events
completely and the heap never holds more than one entry per resource.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.kernel import kernel


@kernel
def _before(time_a, resource_a, time_b, resource_b):
    return time_a < time_b or (time_a == time_b and resource_a < resource_b)


@kernel
def push_event(dev, run, time_ns, resource):
    """Schedule the next event of a resource."""
    heap = dev.heap
    child = np.int64(run.heap_size)
    run.heap_size += 1
    while child > 0:
        parent = (child - 1) >> 1
        if not _before(time_ns, resource, heap[parent].time_ns, heap[parent].resource):
            break
        heap[child].time_ns = heap[parent].time_ns
        heap[child].resource = heap[parent].resource
        child = parent
    heap[child].time_ns = time_ns
    heap[child].resource = resource


@kernel
def pop_event(dev, run):
    """Remove the first event and return its resource; its time is ``dev.heap[0].time_ns`` before the call."""
    heap = dev.heap
    first = np.int64(heap[0].resource)
    run.heap_size -= 1
    size = np.int64(run.heap_size)
    time_ns = heap[size].time_ns
    resource = heap[size].resource
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _before(
            heap[other].time_ns, heap[other].resource, heap[child].time_ns, heap[child].resource
        ):
            child = other
        if not _before(heap[child].time_ns, heap[child].resource, time_ns, resource):
            break
        heap[parent].time_ns = heap[child].time_ns
        heap[parent].resource = heap[child].resource
        parent = child
    heap[parent].time_ns = time_ns
    heap[parent].resource = resource
    return first


@kernel
def make_ready(dev, geometry, run, die_number):
    """Put a die at the tail of the ready queue, unless it is in it."""
    die = dev.die[die_number]
    if die.ready:
        return
    die.ready = 1
    position = run.ready_head + run.ready_count
    if position >= geometry.dies:
        position -= geometry.dies
    dev.ready[position] = die_number
    run.ready_count += 1


@kernel
def take_ready(dev, geometry, run):
    """Take the die at the head of the ready queue (which is not empty)."""
    die_number = np.int64(dev.ready[run.ready_head])
    run.ready_head += 1
    if run.ready_head == geometry.dies:
        run.ready_head = 0
    run.ready_count -= 1
    dev.die[die_number].ready = 0
    return die_number


@kernel
def channel_is_free(geometry, dev, die_number, now):
    """Can the die have its channel at once?"""
    channel = dev.channel[die_number % geometry.channels]
    return channel.free_at <= now and channel.waiter_head < 0


@kernel
def wait_for_channel(dev, geometry, run, die_number):
    """Join the channel's queue; the first to wait schedules the channel's next event."""
    number = die_number % geometry.channels
    channel = dev.channel[number]
    dev.die[die_number].next_waiter = -1
    if channel.waiter_head < 0:
        channel.waiter_head = die_number
        push_event(dev, run, channel.free_at, number)
    else:
        dev.die[channel.waiter_tail].next_waiter = die_number
    channel.waiter_tail = die_number


@kernel
def take_waiter(dev, channel_number):
    """Take the die at the head of a channel's queue."""
    channel = dev.channel[channel_number]
    die_number = np.int64(channel.waiter_head)
    channel.waiter_head = dev.die[die_number].next_waiter
    return die_number
