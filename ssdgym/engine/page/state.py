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
