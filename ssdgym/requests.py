"""The request array: what every workload produces and the engine consumes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

READ, WRITE, TRIM, FLUSH = 0, 1, 2, 3
OP_NAMES = ("read", "write", "trim", "flush")

#: Flag bits: the first / the last page of the request is touched only in part.
PARTIAL_HEAD, PARTIAL_TAIL = 1, 2
#: Flag bit: the host waits for this write to be on flash, so it must not linger in a write buffer to be
#: merged with others. Devices of `mapping: page` program every write at once and take no notice.
SYNC = 4

#: One host request. `arrival_ns` counts from the start of the workload, `lpn` is the first logical
#: page, `pages` how many follow each other, `op` one of READ, WRITE, TRIM, FLUSH (a flush has
#: `pages == 0`), `flags` a set of PARTIAL_HEAD, PARTIAL_TAIL and SYNC. `hint` is a number that the host
#: gives with a write so that data of like lifetime lies together: its placement handle (FDP) or stream, 0
#: for none.
REQUEST = np.dtype(
    [("arrival_ns", "i8"), ("lpn", "i4"), ("pages", "i4"), ("op", "u1"), ("flags", "u1"), ("hint", "u1")],
    align=True,
)

#: An array of dtype REQUEST and shape (requests,).
Requests = npt.NDArray[np.void]
