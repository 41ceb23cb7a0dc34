"""Requests under way: request slots, page transactions, and the read and write queue of every die."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.lists import queue_verbs
from ssdgym.engine.time.commands import ERASE_SET, MOVE_PAGE
from ssdgym.engine.time.latency import record_latency, record_parts
from ssdgym.requests import FLUSH, READ, WRITE

_push_read, _pop_read = queue_verbs("read_head", "read_tail", "next")
_push_write, _pop_write = queue_verbs("write_head", "write_tail", "next")


@inlined
def mark_queued(dev, die_number, number):
    """Note how much time a die has spent on commands of GC when a page is queued to it."""
    die = dev.die[die_number]
    gc_ns = np.int64(die.gc_ns)
    if die.command in (MOVE_PAGE, ERASE_SET):
        gc_ns += dev.control[0].now - die.started_ns
    dev.transaction[number].gc_mark = gc_ns


@inlined
def note_parts(dev, die_number, number, slot_number):
    """Note what the latency of a request is made of, so far: the command of a page of it has ended now."""
    die, slot = dev.die[die_number], dev.slot[slot_number]
    slot.service_ns = dev.control[0].now - die.started_ns
    slot.gc_wait_ns = die.gc_ns - dev.transaction[number].gc_mark


@inlined
def link_pages(dev, number, following):
    """Let the page of a transaction come behind that of another in their command."""
    dev.transaction[number].next = following


@inlined
def push_read(dev, die_number, number):
    """Append a transaction to a die's read queue."""
    mark_queued(dev, die_number, number)
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
    """Give a request a slot. One is free while a transaction is: a request in flight holds one of those.

    A flush has one for what it writes back, which is no request of its own.
    """
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
    slot.service_ns = 0
    slot.gc_wait_ns = 0
    slot.serial = control.serial
    if request.op != FLUSH:
        control.serial += 1
        control.outstanding += 1
    if request.op == WRITE or request.op == FLUSH:
        control.outstanding_writes += 1
    return number


@inlined
def take_flush_slot(dev, request, pages):
    """Give a flush a slot for so many pages that are written back for it."""
    number = take_slot(dev, request, dev.control[0].now)
    dev.slot[number].remaining = pages
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
        record_parts(dev, np.int64(slot.op), slot.service_ns, slot.gc_wait_ns)
    if slot.op == WRITE or slot.op == FLUSH:
        control.outstanding_writes -= 1
    if slot.op != FLUSH:
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
