"""Arrays of the page-mapping family."""

import numpy as np

from ssdgym.engine.core.family import COMMON, ERASE_SETS, Array, Arrays
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

#: Most limits of raw bit error rates, one for each number of retries from 0 on.
MAX_LIMITS = 16
#: How the errors of reads grow, constants of a device: see `ssdgym.config.bit_errors`.
ERROR_MODEL = np.dtype(
    [
        ("base", "f8"),
        ("wear_factor", "f8"),
        ("wear_cycles", "f8"),
        ("retention_factor", "f8"),
        ("retention_cycles", "f8"),
        ("retention_time", "f8"),
        ("disturb_factor", "f8"),
        ("disturb_cycles", "f8"),
        ("disturb_reads", "f8"),
        ("refresh_above", "f8"),
        ("unit_ns", "f8"),  # in which the time of retention counts
        ("read_pages", "f8"),  # by which the reads of a sub-block are divided
        ("cycles_before", "i8"),
        ("retries", "i8"),  # most of a read
        ("limits", "f8", (MAX_LIMITS,)),  # highest rate that is corrected, by the retries before
    ],
    align=True,
)
#: What a sub-block holds: since when, how often it was read since its erase, and its erases when life began.
AGE = np.dtype([("begun_ns", "i8"), ("reads", "i8"), ("first", "i8")])
#: Reads that have errors, of the device; all but the first two count since the last reset of the metrics.
AGING = np.dtype(
    [
        ("passed_ns", "i8"),  # by which data is older than by the clock
        ("slowest", "i8"),  # retries of the command that is about to start: the most of its pages
        ("read_retries", "i8"),
        ("uncorrectable_reads", "i8"),
        ("refreshes", "i8"),  # rounds
        ("refreshed_pages", "i8"),
    ]
)
#: The search of a plane for data to refresh.
PATROL = np.dtype(
    [
        ("next", "i4"),  # 1 + the block, within the plane, to look at next; 0 = there is no search
        ("runs", "u1"),  # a round refreshes what was found
    ],
    align=True,
)

ARRAYS = Arrays(
    "Page",
    __name__,
    {
        **COMMON,
        **ERASE_SETS,
        "buffer": Array(BUFFER, (1,)),
        # Of length 1, as the next two, without a write buffer and where warm pages are not counted.
        "entry": Array(ENTRY, ("buffer_pages",)),
        "entry_of": Array(np.int32, ("buffered_pages",)),  # by logical page: its entry, or -1
        "noted_version": Array(np.int32, ("noted_pages",)),  # by logical page: its version at the last reset
        "error_model": Array(ERROR_MODEL, (1,)),
        "aging": Array(AGING, (1,)),
        # Of length 1, as the next one, where reads have no errors.
        "age": Array(AGE, ("ages",)),  # by sub-block
        "patrol": Array(PATROL, ("patrols",)),  # by plane
        # Of length 1, as the next ones, where best sets are not kept.
        "best": Array(BEST, ("best",)),  # by block
        "tree": Array(np.int32, ("tree",)),  # trees x planes x 2 leaves: winners of best sets
        "group_size": Array(np.int32, ("groups",)),
        "heap": Array(HEAP, ("heap",)),  # planes x groups x 2 (limit + 1): blocks of a group by rank
        # planes x groups x 2 words: writable blocks of a group
        "group_bits": Array(np.uint64, ("group_bits",)),
        "hotness": Array(np.uint64, ("hotness",)),  # 16 counters of 4 bits each
        # Memory of the rules: the victim rule's records, then the placement rule's.
        "page_memory": Array(np.uint8, ("page_memory",)),
        "block_memory": Array(np.uint8, ("block_memory",)),
        "stream_memory": Array(np.uint8, ("stream_memory",)),
        "memory": Array(np.uint8, ("memory",)),
    },
)
PageState = ARRAYS.state
PageDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
