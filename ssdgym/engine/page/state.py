"""Arrays of the page-mapping family."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.family import Array, Arrays
from ssdgym.engine.core.records import (
    BLOCK,
    BUCKET,
    CHANNEL,
    CONTROL,
    COUNTERS,
    DIE,
    ERASE_PAIR,
    LATENCY,
    LOGICAL,
    PARAMS,
    PHYSICAL,
    PLANE,
    SLOT,
    STREAM,
    SUB_BLOCK,
    TRANSACTION,
)
from ssdgym.engine.speedupgc.best_sets import BEST, HEAP

#: The write buffer: its pages from the one written longest ago, and what it has done since the last reset.
BUFFER = np.dtype(
    [
        ("head", "i4"),
        ("tail", "i4"),
        ("free", "i4"),  # first entry that holds nothing
        ("held", "i4"),
        ("absorbed", "i8"),  # host pages written to a page that was held
        ("reads", "i8"),  # reads of pages that were held
    ],
    align=True,
)
#: A page that the write buffer holds.
ENTRY = np.dtype([("lpn", "i4"), ("next", "i4"), ("previous", "i4"), ("partial", "u1")], align=True)

ARRAYS = Arrays(
    "Page",
    __name__,
    params=Array(PARAMS, (1,)),
    control=Array(CONTROL, (1,)),
    counters=Array(COUNTERS, (1,)),
    logical=Array(LOGICAL, ("logical_pages",)),  # the map; ppn -1 = unmapped
    promised=Array(np.int32, ("logical_pages",)),  # versions promised to the host and not yet programmed
    buffer=Array(BUFFER, (1,)),
    # Of length 1, as the next two, without a write buffer and where warm pages are not counted.
    entry=Array(ENTRY, ("buffer_pages",)),
    entry_of=Array(np.int32, ("buffered_pages",)),  # by logical page: its entry, or -1
    noted_version=Array(np.int32, ("noted_pages",)),  # by logical page: its version at the last reset
    physical=Array(PHYSICAL, ("pages",)),  # what each page was programmed with
    sub_block=Array(SUB_BLOCK, ("sub_blocks",)),
    block=Array(BLOCK, ("blocks",)),
    plane=Array(PLANE, ("planes",)),
    round_pairs=Array(ERASE_PAIR, ("round_pairs",)),  # MAX_PAIRS per plane: the round that it leads
    open_sub_block=Array(
        np.int32, ("open_sub_blocks",)
    ),  # MAX_STREAMS per plane: open sub-block of (plane, stream), or -1
    stream=Array(STREAM, ("open_sub_blocks",)),  # likewise
    bucket=Array(BUCKET, ("buckets",)),  # pages per block + 1 per plane: blocks by invalid pages
    # Of length 1, as the next ones, where best sets are not kept.
    best=Array(BEST, ("best",)),  # by block
    tree=Array(np.int32, ("tree",)),  # trees x planes x 2 leaves: winners of best sets
    group_size=Array(np.int32, ("groups",)),
    heap=Array(HEAP, ("heap",)),  # planes x groups x 2 (limit + 1): blocks of a group by rank
    group_bits=Array(np.uint64, ("group_bits",)),  # planes x groups x 2 words: writable blocks of a group
    hotness=Array(np.uint64, ("hotness",)),  # 16 counters of 4 bits each
    # Memory of the rules: the victim rule's records, then the placement rule's.
    page_memory=Array(np.uint8, ("page_memory",)),
    block_memory=Array(np.uint8, ("block_memory",)),
    stream_memory=Array(np.uint8, ("stream_memory",)),
    memory=Array(np.uint8, ("memory",)),
    die=Array(DIE, ("dies",)),
    channel=Array(CHANNEL, ("channels",)),
    transaction=Array(TRANSACTION, ("window",)),
    slot=Array(SLOT, ("window",)),
    event=Array(np.int64, ("events",)),  # a tree of minima over the resources' events; see time/events.py
    ready=Array(np.int32, ("dies",)),  # ring of dies to dispatch
    latency=Array(LATENCY, ("latencies",)),  # by serial number
    histogram=Array(np.int64, (2, "bins")),  # latencies of reads and writes, log-binned
    gc_histogram=Array(np.int64, (2, "bins")),  # of what requests have waited for commands of GC
    tail=Array(np.int64, (2, "tail")),  # min-heaps of the slowest; [0] is the number held
)
PageState = ARRAYS.state
PageDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
