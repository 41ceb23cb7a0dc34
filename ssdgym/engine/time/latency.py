"""Latencies of reads and writes: each kept up to a number, then a histogram and the slowest exactly."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.requests import READ

#: Bins per factor of two: the middle of a bin is within 1 / (2 * 64) = 0.8 % of every value in it.
BINS_PER_OCTAVE = 64
_BITS = 6
#: Enough for any int64.
BINS = (63 - _BITS + 1) * BINS_PER_OCTAVE


@inlined
def bin_of(value):
    """Return the number of the log-spaced bin of a latency; values below 64 ns have a bin each."""
    shift = 0
    scaled = value
    for step in (32, 16, 8, 4, 2, 1):
        if scaled >> (_BITS + step):
            scaled >>= step
            shift += step
    return shift * BINS_PER_OCTAVE + scaled


def bin_middles() -> np.ndarray:
    """Return the middle of each bin in ns, shape (BINS,)."""
    number = np.arange(BINS)
    shift = np.maximum(number // BINS_PER_OCTAVE - 1, 0)
    low = (number - shift * BINS_PER_OCTAVE).astype(np.float64) * 2.0**shift
    return low + (2.0**shift - 1) / 2


@kernel
def _sift_up(heap, value):
    """Insert into a min-heap that starts at index 1 and whose size is in index 0."""
    heap[0] += 1
    child = heap[0]
    while child > 1 and heap[child >> 1] > value:
        heap[child] = heap[child >> 1]
        child >>= 1
    heap[child] = value


@kernel
def _replace_least(heap, value):
    """Put `value` in the place of the smallest one."""
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
    """Keep the latency of a finished read (op 0) or write (op 1)."""
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


@inlined
def record_parts(dev, op, service_ns, gc_wait_ns):
    """Count what the latency of a finished read (op 0) or write (op 1) is made of."""
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
