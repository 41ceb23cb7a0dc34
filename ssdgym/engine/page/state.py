"""Arrays of the page-mapping family."""

import numpy as np

from ssdgym.engine.core.family import COMMON, ERASE_SETS, Array, Arrays

ARRAYS = Arrays(
    "Page",
    __name__,
    {
        **COMMON,
        **ERASE_SETS,
        # Memory of rules, one role after the other; each role's begins at its offset in `params.memory_at`.
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
