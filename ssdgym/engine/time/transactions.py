"""Requests under way: their slots, the transactions of their pages, and their latencies.

A *slot* is the record of a request under way, a *transaction* that of a page of it that waits for flash.
"""

import numpy as np

from ssdgym.engine.core.bits import queue_kernels
from ssdgym.engine.core.kernel import inlined, kernel, leading_zeros
from ssdgym.engine.time.events import ERASE_SET, MOVE_PAGE, charge, wake
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, WRITE

#: Bins of a histogram per factor of two. A bin's middle is within 1 / (2 * 64) = 0.8 % of its values.
BINS_PER_OCTAVE = 64
_BITS = 6
#: Number of bins, enough for any int64.
BINS = (63 - _BITS + 1) * BINS_PER_OCTAVE


@inlined
def bin_of(value):
    """Return the number of the log-spaced bin of a latency in ns; each value below 128 ns has its own bin."""
    shift = max(63 - _BITS - np.int64(leading_zeros(np.uint64(value))), 0)
    return shift * BINS_PER_OCTAVE + (value >> shift)


def bin_middles() -> np.ndarray:
    """Return the middle of each bin in ns, shape (BINS,)."""
    number = np.arange(BINS)
    shift = np.maximum(number // BINS_PER_OCTAVE - 1, 0)
    low = (number - shift * BINS_PER_OCTAVE).astype(np.float64) * 2.0**shift
    return low + (2.0**shift - 1) / 2


@kernel
def _sift_up(heap, value):
    """Insert a value into a min-heap that starts at index 1 and has its size at index 0."""
    heap[0] += 1
    child = heap[0]
    while child > 1 and heap[child >> 1] > value:
        heap[child] = heap[child >> 1]
        child >>= 1
    heap[child] = value


@kernel
def _replace_least(heap, value):
    """Replace the smallest value of a min-heap, which starts at index 1, by `value`."""
    size = heap[0]
    parent = 1
    while True:
        child = 2 * parent
        if child > size:
            break
        if child < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = value


@inlined
def record_latency(dev, op, serial, latency_ns):
    """Add the latency of a completed read (op 0) or write (op 1) to sums, histogram, `latency` and `tail`."""
    if op == READ:
        dev.counters[0].read_latency_sum_ns += latency_ns
    else:
        dev.counters[0].write_latency_sum_ns += latency_ns
    if latency_ns > dev.params[0].slow_ns:
        dev.counters[0].slow_requests += 1
    if serial < dev.latency.shape[0]:
        record = dev.latency[serial]
        record.ns = latency_ns
        record.op = op + 1
    dev.histogram[op, bin_of(latency_ns)] += 1
    heap = dev.tail[op]
    if heap[0] < heap.shape[0] - 1:
        _sift_up(heap, latency_ns)
    elif heap[0] > 0 and latency_ns > heap[1]:
        _replace_least(heap, latency_ns)


_push_read, _pop_read = queue_kernels("read_head", "read_tail", "next")
_push_write, _pop_write = queue_kernels("write_head", "write_tail", "next")


@inlined
def mark_queued(dev, die_number, number):
    """Store in a transaction that is queued to a die how long the die has spent on GC commands until now."""
    die = dev.die[die_number]
    gc_ns = np.int64(die.gc_ns)
    if die.command in (MOVE_PAGE, ERASE_SET):
        gc_ns += dev.control[0].now - die.started_ns
    dev.transaction[number].gc_mark = gc_ns


@inlined
def note_parts(dev, die_number, number, slot_number):
    """Store in a request's slot the service time and the wait for GC of a page whose command has ended."""
    die, slot = dev.die[die_number], dev.slot[slot_number]
    slot.service_ns = dev.control[0].now - die.started_ns
    slot.gc_wait_ns = die.gc_ns - dev.transaction[number].gc_mark


@inlined
def link_pages(dev, number, following):
    """Link transaction `following` behind transaction `number` of the same command."""
    dev.transaction[number].next = following


@inlined
def pop_read(dev, die_number):
    """Remove the transaction at the head of a die's read queue; return its number."""
    return np.int64(_pop_read(dev.transaction, dev.die[die_number]))


@inlined
def push_write(dev, queue, number):
    """Append a transaction to a write queue. `queue` is the record of a die or of a region, or `control`."""
    _push_write(dev.transaction, queue, number)


@inlined
def queue_read(dev, die_number, number, phases):
    """Queue a read to a die: add its time to the die's estimate, and make the die ready if it is idle."""
    mark_queued(dev, die_number, number)
    _push_read(dev.transaction, dev.die[die_number], number)
    charge(dev, die_number, phases)
    wake(dev, die_number)


@inlined
def queue_write(dev, die_number, queue, number, phases):
    """Append a write to a queue of a die; add its time to the die's estimate; make an idle die ready."""
    mark_queued(dev, die_number, number)
    push_write(dev, queue, number)
    charge(dev, die_number, phases)
    wake(dev, die_number)


@inlined
def pop_write(dev, queue):
    """Remove the transaction at the head of a write queue, as in `push_write`; return its number."""
    return np.int64(_pop_write(dev.transaction, queue))


@inlined
def name_stream(dev, slot_number, stream):
    """Store in a request's slot the stream that is chosen outside the engine for all pages of the request."""
    dev.slot[slot_number].stream = stream + 1


@inlined
def pages_done(dev, slot_number, pages):
    """Mark `pages` pages of a request as done. If no page is left, complete the request and free its slot."""
    control, slot = dev.control[0], dev.slot[slot_number]
    slot.remaining -= pages
    if slot.remaining > 0:
        return
    if slot.op == READ or slot.op == WRITE:
        record_latency(dev, np.int64(slot.op), slot.serial, control.now - slot.arrival_ns)
        op = np.int64(slot.op)
        service_ns = slot.service_ns
        gc_wait_ns = slot.gc_wait_ns
        counters = dev.counters[0]
        if op == READ:
            counters.read_service_sum_ns += service_ns
            counters.read_gc_wait_sum_ns += gc_wait_ns
        else:
            counters.write_service_sum_ns += service_ns
            counters.write_gc_wait_sum_ns += gc_wait_ns
        if gc_wait_ns > 0:
            counters.met_gc_requests += 1
            dev.gc_histogram[op, bin_of(gc_wait_ns)] += 1
    control.outstanding_writes -= slot.op == WRITE
    control.outstanding -= 1
    slot.next = control.free_slot
    control.free_slot = slot_number


@inlined
def take_transaction(dev, lpn, version, slot_number, rmw):
    """Take a free transaction, which has to exist, for a page of a request; return its number."""
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
    """Free a transaction."""
    control = dev.control[0]
    dev.transaction[number].next = control.free_transaction
    control.free_transaction = number
    control.free_transactions += 1


@inlined
def transaction_done(dev, number):
    """Free a transaction and mark one page of its request as done."""
    free_transaction(dev, number)
    pages_done(dev, np.int64(dev.transaction[number].slot), 1)


@inlined
def arrived(params, control, request):
    """Return whether `request`, the next one, has arrived and may be started now."""
    if request.op == FLUSH and control.outstanding_writes > 0:
        return False
    if params.queue_depth > 0:
        return request.op == FLUSH or control.outstanding < params.queue_depth
    return request.arrival_ns <= control.now


@inlined
def is_partial(request, offset):
    """Return whether a request covers the page at `offset` from its first page only in part."""
    head = request.flags & PARTIAL_HEAD and offset == 0
    return head or (request.flags & PARTIAL_TAIL and offset == request.pages - 1)


@inlined
def next_request(control):
    """Make the request behind the request in admission the next one to start."""
    control.cursor += 1
    control.offset = 0
    control.slot = -1


@inlined
def start_request(dev, request):
    """Start a request: take a slot for it. A flush ends at once, since no write is outstanding."""
    control = dev.control[0]
    if request.op == FLUSH:
        control.serial += 1
        next_request(control)
        return
    arrival_ns = control.now if dev.params[0].queue_depth > 0 else request.arrival_ns
    number = np.int64(control.free_slot)
    slot = dev.slot[number]
    control.free_slot = slot.next
    slot.op = request.op
    slot.arrival_ns = arrival_ns
    slot.remaining = request.pages
    slot.lpn = request.lpn
    slot.pages = request.pages
    slot.hint = request.hint
    slot.stream = slot.service_ns = slot.gc_wait_ns = 0
    slot.serial = control.serial
    control.serial += 1
    control.outstanding += 1
    control.outstanding_writes += request.op == WRITE
    control.slot = number
