"""Records: requests by byte and volume, before they have pages of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

#: One request. `time_ns` counts from the first request of the file and may fall, even below 0, where
#: the file does; `volume` is an index into `Volumes.names`; `op` one of READ, WRITE, TRIM, FLUSH.
#: A flush has no bytes.
RECORD = np.dtype(
    [("time_ns", "i8"), ("offset_bytes", "i8"), ("size_bytes", "i4"), ("volume", "u2"), ("op", "u1")],
    align=True,
)

#: An array of dtype RECORD and shape (requests,).
Records = npt.NDArray[np.void]

LARGEST_SIZE_BYTES = 2**31 - 1
#: Far enough from the last of 64 bits that rounding to pages and units stays within them.
LARGEST_END_BYTES = 2**62
MOST_VOLUMES = 2**16

NO_RECORDS: Records = np.zeros(0, RECORD)
NO_RECORDS.flags.writeable = False


@dataclass(frozen=True)
class Volumes:
    """The volumes (LUNs, disks, files) of a trace, each with addresses from 0 on.

    Attributes:
        names: as the trace calls them, in the order in which they first appear.
        end_bytes: of each, where its last request ends; no request reaches further.
        overlay: whether equal addresses of different volumes are the same place; else each volume is an
            address space of its own, and they lie one after the other.
    """

    names: tuple[str, ...]
    end_bytes: tuple[int, ...]
    overlay: bool = False


class RecordSource(Protocol):
    """Records on their way to a device; a cursor that can be copied and pickled at any point.

    Attributes:
        volumes: what the field `volume` of the records refers to.
    """

    volumes: Volumes

    def chunk(self) -> Records:
        """Return the next records, shape (n,); an empty array at the end and ever after."""
