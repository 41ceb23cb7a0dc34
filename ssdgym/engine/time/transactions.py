"""Requests under way: request slots, page transactions, and the read and write queue of every die."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.lists import queue_verbs
from ssdgym.engine.time.latency import record_latency
from ssdgym.requests import READ, WRITE

_push_read, _pop_read = queue_verbs("read_head", "read_tail", "next")
_push_write, _pop_write = queue_verbs("write_head", "write_tail", "next")


@inlined
def push_read(dev, die_number, number):
    """Append a transaction to a die's read queue."""
    _push_read(dev.transaction, dev.die[die_number], number)


@inlined
def pop_read(dev, die_number):
    """Take the head of a die's read queue."""
    return np.int64(_pop_read(dev.transaction, dev.die[die_number]))


@inlined
def push_write(dev, queue, number):
    """Append a transaction to a write queue: that of a die (its record), or the common one (`control`)."""
    _push_write(dev.transaction, queue, number)


@inlined
def pop_write(dev, queue):
    """Take the head of a write queue."""
    return np.int64(_pop_write(dev.transaction, queue))


@inlined
def take_slot(dev, request, arrival_ns):
    """Give a request a slot. One is free while a transaction is: a request in flight holds one of those."""
    control = dev.control[0]
    number = np.int64(control.free_slot)
    slot = dev.slot[number]
    control.free_slot = slot.next
    slot.op = request.op
    slot.arrival_ns = arrival_ns
    slot.remaining = request.pages
    slot.lpn = request.lpn
    slot.pages = request.pages
    slot.hint = request.hint
    slot.stream = 0
    slot.serial = control.serial
    control.serial += 1
    control.outstanding += 1
    if request.op == WRITE:
        control.outstanding_writes += 1
    return number


@inlined
def name_stream(dev, slot_number, stream):
    """Note the stream that has been named outside for all pages of a request."""
    dev.slot[slot_number].stream = stream + 1


@inlined
def pages_done(dev, slot_number, pages):
    """Mark pages of a request as done; the last one completes it."""
    control = dev.control[0]
    slot = dev.slot[slot_number]
    slot.remaining -= pages
    if slot.remaining > 0:
        return
    if slot.op == READ or slot.op == WRITE:
        record_latency(dev, np.int64(slot.op), slot.serial, control.now - slot.arrival_ns)
    if slot.op == WRITE:
        control.outstanding_writes -= 1
    control.outstanding -= 1
    slot.next = control.free_slot
    control.free_slot = slot_number


@inlined
def page_done(dev, slot_number):
    """Mark one page of a request as done; the last one completes it."""
    pages_done(dev, slot_number, 1)


@inlined
def take_transaction(dev, lpn, version, slot_number, rmw):
    """Give a page of a request one of the places; the caller has checked that one is free."""
    control = dev.control[0]
    number = np.int64(control.free_transaction)
    transaction = dev.transaction[number]
    control.free_transaction = transaction.next
    control.free_transactions -= 1
    transaction.lpn = lpn
    transaction.version = version
    transaction.slot = slot_number
    transaction.rmw = rmw
    return number


@inlined
def free_transaction(dev, number):
    """Give the place of a transaction back."""
    control = dev.control[0]
    dev.transaction[number].next = control.free_transaction
    control.free_transaction = number
    control.free_transactions += 1


@inlined
def transaction_done(dev, number):
    """Free a transaction and mark one page of its request as done."""
    free_transaction(dev, number)
    page_done(dev, np.int64(dev.transaction[number].slot))


@inlined
def writes_done(dev, first, pages):
    """Finish the pages of a write command, which are linked to each other."""
    number = first
    for _ in range(pages):
        following = np.int64(dev.transaction[number].next)
        transaction_done(dev, number)
        number = following
