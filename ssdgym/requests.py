"""The array of requests that workloads produce and the engine reads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

READ, WRITE, TRIM, FLUSH = 0, 1, 2, 3
OP_NAMES = ("read", "write", "trim", "flush")

#: Flag bits: the request covers only part of its first page, or of its last page.
PARTIAL_HEAD, PARTIAL_TAIL = 1, 2
#: Flag bit: the host waits until this write is on flash, so a write buffer must not keep the write to merge
#: it with other writes. Only devices of `mapping: subpage` have such a buffer; the others ignore the flag.
SYNC = 4

#: One host request. `arrival_ns` is the time since the start of the workload, `lpn` the first logical page,
#: `pages` the number of consecutive pages, `op` one of READ, WRITE, TRIM, FLUSH (a flush has `pages == 0`),
#: `flags` the sum of some of PARTIAL_HEAD, PARTIAL_TAIL and SYNC. `hint` is a number by which the host marks
#: data of similar lifetime: its placement handle (FDP) or its stream; 0 if there is no hint.
REQUEST = np.dtype(
    [("arrival_ns", "i8"), ("lpn", "i4"), ("pages", "i4"), ("op", "u1"), ("flags", "u1"), ("hint", "u1")],
    align=True,
)

#: An array of dtype REQUEST and shape (requests,).
Requests = npt.NDArray[np.void]
