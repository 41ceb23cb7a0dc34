"""What a trace reader produces, and its book of bad lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError

#: One recorded request. ``time_ns`` counts from the first request of the file; ``op`` is READ or WRITE.
RECORD = np.dtype([("time_ns", "i8"), ("offset_bytes", "i8"), ("size_bytes", "i8"), ("op", "u1")], align=True)

#: An array of dtype RECORD and shape (requests,).
Records = npt.NDArray[np.void]


class BadLines:
    """Counts the bad lines of a file and gives up when there are too many.

    Attributes:
        count: bad lines left out so far.
    """

    def __init__(self, path: Path, allowed: int) -> None:
        self._path = path
        self.count = 0
        self._allowed = allowed

    def add(self, line: int, reason: str) -> None:
        """Leave out line number `line` (from 1).

        Raises:
            SsdgymError: there are now more bad lines than allowed.
        """
        self.count += 1
        if self.count > self._allowed:
            remedy = (
                f"that is more than the {self._allowed} bad lines that skip_bad allows"
                if self._allowed
                else "correct it, or set skip_bad to leave out bad lines"
            )
            raise SsdgymError(f"{self._path}: line {line} {reason}; {remedy}.")
