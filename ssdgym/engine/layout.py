"""What a device is: a NamedTuple of batch-first arrays and nothing else.

Every array has the device as its first axis; a snapshot is a copy of these arrays, a restore is an in-place
copy, equality is array equality. Devices of different geometry may share one batch: geometry is data
(``GEOMETRY``), and the arrays are as long as the largest device needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from ssdgym.engine.kernel import inlined

#: Most write streams of a plane.
MAX_STREAMS = 8
#: Most (block, sub-block mask) pairs of one erase set.
MAX_PAIRS = 4

#: Status bits of a block.
OPEN, INDEXED, POOLED = 1, 2, 4

#: A device's constants. Pages and blocks are per plane unless the name says otherwise; times are nanoseconds.
GEOMETRY = np.dtype(
    [
        ("seed", "u8"),
        ("logical_pages", "i8"),  # of the whole device
        ("channels", "i4"),
        ("dies", "i4"),  # of the whole device
        ("leaf_bits", "i4"),  # the event tree has 2**leaf_bits leaves, at least channels + dies
        ("planes", "i4"),  # of the whole device
        ("planes_per_die", "i4"),
        ("blocks", "i4"),
        ("sub_blocks", "i4"),  # per block
        ("pages_per_block", "i4"),
        ("pages_per_sub_block", "i4"),
        ("streams", "i4"),
        ("gc_stream", "i4"),
        ("low_free", "i8"),  # GC starts when free_pages < low_free ...
        ("low_pool", "i8"),  # ... or pool_pages < low_pool
        ("stop_free", "i8"),  # and goes on while free_pages < stop_free ...
        ("stop_pool", "i8"),  # ... or pool_pages < stop_pool
        ("background_free", "i8"),  # background GC while free_pages < this; 0 = none
        ("valid_limit", "i8"),  # V_max: most valid pages of a plane
        ("read_ns", "i8"),
        ("program_ns", "i8"),
        ("erase_ns", "i8"),
        ("transfer_ns", "i8"),  # one page on the channel
        ("slow_ns", "i8"),  # latency over which a request counts as slow
        ("queue_depth", "i8"),  # closed loop: requests outstanding; 0 = open loop
        ("window_pages", "i8"),  # page transactions in flight
        ("dynamic", "u1"),
        ("run_erase", "u1"),  # runs of sub-blocks may be erased, not only whole blocks
        ("reads_first", "u1"),  # host reads go before foreground GC
        ("timed", "u1"),
    ],
    align=True,
)

#: Where a device is, and what it has counted since the last reset of the metrics (pages unless named
#: otherwise).
RUN = np.dtype(
    [
        ("clock", "i8"),  # host pages programmed since the device was made
        ("now", "i8"),  # ns
        ("rounds", "i8"),  # GC rounds started since the device was made: the decision number
        ("horizon", "i8"),  # admission stops when this many host pages have been admitted
        ("admitted_pages", "i8"),  # host pages admitted since the device was made
        ("cursor", "i8"),  # next request of the present chunk of input
        ("offset", "i8"),  # pages of it already admitted
        ("serial", "i8"),  # requests started since the last reset
        ("outstanding", "i8"),  # requests
        ("outstanding_writes", "i8"),  # requests
        ("decision_plane", "i4"),  # plane that waits for an ERASE decision from outside, or -1
        ("gc_plane", "i4"),  # untimed: plane in foreground GC, or -1
        ("host_plane", "i4"),  # plane of the last host program
        ("die_cursor", "i4"),
        ("slot", "i4"),  # slot of the request in admission, or -1
        ("free_slot", "i4"),
        ("free_transaction", "i4"),
        ("free_transactions", "i4"),
        ("ready_head", "i4"),
        ("ready_count", "i4"),
        ("host_reads", "i8"),
        ("host_pages_written", "i8"),
        ("host_pages_trimmed", "i8"),
        ("relocated_pages", "i8"),
        ("flash_reads", "i8"),
        ("rmw_reads", "i8"),
        ("queue_hits", "i8"),
        ("unmapped_reads", "i8"),
        ("gc_invocations", "i8"),  # rounds
        ("gc_episodes", "i8"),
        ("erases", "i8"),  # blocks named in erase sets
        ("erased_sub_blocks", "i8"),
        ("lost_pages", "i8"),
        ("read_latency_sum_ns", "i8"),
        ("write_latency_sum_ns", "i8"),
        ("slow_requests", "i8"),  # reads and writes slower than the geometry's slow_ns
        ("gc_time_ns", "i8"),  # die time of moves and erases, waiting for channels included
        ("metrics_start_ns", "i8"),
    ],
    align=True,
)
_NAMES = tuple(RUN.names or ())
#: The part of RUN that a reset of the metrics clears.
COUNTERS = _NAMES[_NAMES.index("host_reads") : _NAMES.index("metrics_start_ns")]

LOGICAL = np.dtype([("ppn", "i4"), ("version", "i4")])
PHYSICAL = np.dtype([("lpn", "i4"), ("version", "i4")])
SUB_BLOCK = np.dtype([("written", "i4"), ("invalid", "i4"), ("erases", "i4")])
BLOCK = np.dtype(
    [
        ("invalidated_at", "i8"),  # clock
        ("closed_at", "i8"),  # clock
        ("written", "i4"),  # pages of its full sub-blocks
        ("invalid", "i4"),
        ("plane", "i4"),
        ("next_age", "i4"),
        ("previous_age", "i4"),
        ("next_bucket", "i4"),
        ("previous_bucket", "i4"),
        ("status", "u1"),  # OPEN | INDEXED | POOLED
        ("stream", "u1"),  # stream it was last opened for
    ],
    align=True,
)
PLANE = np.dtype(
    [
        ("free_pages", "i8"),
        ("pool_pages", "i8"),
        ("valid", "i8"),
        ("pool_head", "i4"),
        ("pool_count", "i4"),
        ("age_head", "i4"),
        ("age_tail", "i4"),
        ("indexed_blocks", "i4"),
        ("fullest", "i4"),  # no bucket above this one holds a block
        ("job_block", "i4"),  # victim of the running round, or -1
        ("job_page", "i4"),  # next page of the victim to look at
        ("job_mask", "u8"),
        ("collecting", "u1"),  # foreground GC is switched on
    ],
    align=True,
)
BUCKET = np.dtype([("head", "i4"), ("tail", "i4")])
DIE = np.dtype(
    [
        ("estimate_ns", "i8"),  # when the work queued to it should end
        ("started_ns", "i8"),  # when the present command started
        ("read_head", "i4"),
        ("read_tail", "i4"),
        ("write_head", "i4"),
        ("write_tail", "i4"),
        ("transaction", "i4"),
        ("next_waiter", "i4"),  # in its channel's queue
        ("plane_cursor", "i4"),
        ("command", "u1"),
        ("stage", "u1"),
        ("ready", "u1"),
    ],
    align=True,
)
CHANNEL = np.dtype(
    [("free_at", "i8"), ("waiter_head", "i4"), ("waiter_tail", "i4")],
    align=True,
)
TRANSACTION = np.dtype(
    [("lpn", "i4"), ("version", "i4"), ("slot", "i4"), ("next", "i4"), ("rmw", "u1")], align=True
)
SLOT = np.dtype(
    [("arrival_ns", "i8"), ("serial", "i8"), ("remaining", "i4"), ("next", "i4"), ("op", "u1")], align=True
)
LATENCY = np.dtype([("ns", "i8"), ("op", "u1")], align=True)

#: One pair of an erase set: a block and the sub-blocks of it (bit s = sub-block s).
ERASE_PAIR = np.dtype([("mask", "u8"), ("block", "i4")], align=True)


class State(NamedTuple):
    """A batch of devices. Each array has shape (devices, length)."""

    geometry: Any  # (n, 1) GEOMETRY
    run: Any  # (n, 1) RUN
    logical: Any  # (n, logical pages) LOGICAL: the map; ppn -1 = unmapped
    ahead: Any  # (n, logical pages) int32: versions promised to the host and not yet programmed
    physical: Any  # (n, pages) PHYSICAL: what each page was programmed with
    sub_block: Any  # (n, sub-blocks) SUB_BLOCK
    block: Any  # (n, blocks) BLOCK
    plane: Any  # (n, planes) PLANE
    open_unit: Any  # (n, planes * MAX_STREAMS) int32: open sub-block of (plane, stream), or -1
    pool: Any  # (n, blocks) int32: a ring of block numbers per plane
    bucket: Any  # (n, planes * (pages per block + 1)) BUCKET: blocks by invalid pages
    die: Any  # (n, dies) DIE
    channel: Any  # (n, channels) CHANNEL
    transaction: Any  # (n, window) TRANSACTION
    slot: Any  # (n, window) SLOT
    event: Any  # (n, 2 * leaves) int64: a tree of minima over the resources' events; see events.py
    ready: Any  # (n, dies) int32: ring of dies to dispatch
    latency: Any  # (n, kept requests) LATENCY by serial number
    histogram: Any  # (n, 2, bins) int64: latencies of reads and writes, log-binned
    tail: Any  # (n, 2, kept + 1) int64: min-heaps of the slowest; [0] is the number held


class Device(NamedTuple):
    """One device of a batch: the same fields without the first axis."""

    geometry: Any
    run: Any
    logical: Any
    ahead: Any
    physical: Any
    sub_block: Any
    block: Any
    plane: Any
    open_unit: Any
    pool: Any
    bucket: Any
    die: Any
    channel: Any
    transaction: Any
    slot: Any
    event: Any
    ready: Any
    latency: Any
    histogram: Any
    tail: Any


class PolicyView(NamedTuple):
    """What a policy sees of a device: a part of its fields, since passing all of them costs more than most
    policies do.
    """

    geometry: Any
    run: Any
    plane: Any
    block: Any
    sub_block: Any
    bucket: Any
    logical: Any
    physical: Any


@inlined
def policy_view(dev):
    """The part of a device that policies see; nothing is copied."""
    return PolicyView(
        dev.geometry, dev.run, dev.plane, dev.block, dev.sub_block, dev.bucket, dev.logical, dev.physical
    )


@inlined
def device_of(state, i):
    """Views of device ``i`` of a batch; nothing is copied."""
    return Device(
        state.geometry[i],
        state.run[i],
        state.logical[i],
        state.ahead[i],
        state.physical[i],
        state.sub_block[i],
        state.block[i],
        state.plane[i],
        state.open_unit[i],
        state.pool[i],
        state.bucket[i],
        state.die[i],
        state.channel[i],
        state.transaction[i],
        state.slot[i],
        state.event[i],
        state.ready[i],
        state.latency[i],
        state.histogram[i],
        state.tail[i],
    )


class Sizes(NamedTuple):
    """Lengths of the arrays of a batch: those of its largest device."""

    logical_pages: int
    pages: int
    sub_blocks: int
    blocks: int
    planes: int
    buckets: int
    dies: int
    channels: int
    leaves: int
    window: int
    latencies: int
    bins: int
    tail: int


def allocate(devices: int, sizes: Sizes) -> State:
    """Zeroed arrays for ``devices`` devices; :mod:`ssdgym.engine.format` makes devices of them."""

    def table(length: int, dtype: Any, *more: int) -> np.ndarray:
        return np.zeros((devices, length, *more), dtype)

    return State(
        geometry=table(1, GEOMETRY),
        run=table(1, RUN),
        logical=table(sizes.logical_pages, LOGICAL),
        ahead=table(sizes.logical_pages, np.int32),
        physical=table(sizes.pages, PHYSICAL),
        sub_block=table(sizes.sub_blocks, SUB_BLOCK),
        block=table(sizes.blocks, BLOCK),
        plane=table(sizes.planes, PLANE),
        open_unit=table(sizes.planes * MAX_STREAMS, np.int32),
        pool=table(sizes.blocks, np.int32),
        bucket=table(sizes.buckets, BUCKET),
        die=table(sizes.dies, DIE),
        channel=table(sizes.channels, CHANNEL),
        transaction=table(sizes.window, TRANSACTION),
        slot=table(sizes.window, SLOT),
        event=table(2 * sizes.leaves, np.int64),
        ready=table(sizes.dies, np.int32),
        latency=table(sizes.latencies, LATENCY),
        histogram=table(2, np.int64, sizes.bins),
        tail=table(2, np.int64, sizes.tail + 1),
    )


def policy_arrays(state: State, i: int) -> PolicyView:
    """What a plain-Python policy sees of device ``i``; records have attributes (``dev.block[b].invalid``)."""
    return PolicyView(*(getattr(state, name)[i].view(np.recarray) for name in PolicyView._fields))


_SAMPLE = allocate(1, Sizes(*[1] * len(Sizes._fields)))
POLICY_VIEW_TYPE = typeof(PolicyView(*(getattr(_SAMPLE, name)[0] for name in PolicyView._fields)))
PAIRS_TYPE = typeof(np.zeros(MAX_PAIRS, ERASE_PAIR))
PARAMETERS_TYPE = types.float64[::1]
