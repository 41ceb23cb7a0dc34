"""Arrays of the page-mapping family."""

import numpy as np

from ssdgym.engine.core.family import COMMON, ERASE_SETS, Array, Arrays

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
        # Memory of the rules: the victim rule's records, then the placement rule's.
        "page_memory": Array(np.uint8, ("page_memory",)),
        "block_memory": Array(np.uint8, ("block_memory",)),
        "stream_memory": Array(np.uint8, ("stream_memory",)),
        "memory": Array(np.uint8, ("memory",)),
        "table": Array(np.uint8, ("table",)),
    },
)
PageState = ARRAYS.state
PageDevice = ARRAYS.device
bind_device = ARRAYS.bind_device
