"""What every trace format offers, and the helpers they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.workloads.records.record import MOST_VOLUMES, Records, Volumes
from ssdgym.workloads.traces.bad_lines import BadLines


class VolumeNumbers:
    """Numbers the volumes of a file in the order in which they first appear."""

    def __init__(self, path: Path) -> None:
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


class TraceFormat(Protocol):
    """One file format that can be read."""

    @property
    def name(self) -> str:
        """What the configuration calls the format."""

    def matches(self, start: bytes) -> int:
        """Return how many lines (records) of the first bytes of a file fit this format; 0: it is another."""

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """Yield the requests of a file in its order, block by block.

        Raises:
            SsdgymError: the file cannot be read, or has more bad lines than `bad` allows.
        """


class WritableFormat(TraceFormat, Protocol):
    """One file format that can also be written."""

    @property
    def tick_ns(self) -> int:
        """Nanoseconds between two times that can be written."""

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """Write requests so that reading them again gives the same.

        Volumes keep their number, and their name where the format has names.

        Raises:
            SsdgymError: the format cannot hold a request (a time between two ticks of its clock, an offset
                between two sectors, an operation or a second volume that it does not have), or the
                numbers of its volumes.
        """
