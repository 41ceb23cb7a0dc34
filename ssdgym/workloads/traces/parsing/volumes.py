"""Number the volumes of a file as they appear."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.workloads.records.record import MOST_VOLUMES


class VolumeNumbers:
    """Numbers of the volumes of a file, in the order in which they first appear."""

    def __init__(self, path: Path) -> None:
        """Start with no volume of a file."""
        self._path = path
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The volumes so far, by number."""
        return tuple(self._numbers)

    def of(self, names: Sequence[str]) -> npt.NDArray[np.uint16]:
        """Return the number of each name, shape (len(names),); new names take the next numbers.

        Raises:
            SsdgymError: the file has more than 65,536 volumes.
        """
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        if len(self._numbers) > MOST_VOLUMES:
            raise SsdgymError(f"{self._path}: the trace has more than {MOST_VOLUMES} volumes; split it.")
        return np.array(numbers, np.uint16)
