"""Interface of trace formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Protocol

from ssdgym.workloads.records.record import Records, Volumes
from ssdgym.workloads.traces.parsing.bad_lines import BadLines
from ssdgym.workloads.traces.parsing.volumes import VolumeNumbers


class TraceFormat(Protocol):
    """One file format that can be read."""

    @property
    def name(self) -> str:
        """What the configuration calls the format."""

    @property
    def is_binary(self) -> bool:
        """Whether the file is no text."""

    @property
    def unread(self) -> tuple[str, ...]:
        """Names of the values of a request that the file holds and records do not."""

    def matches(self, start: bytes) -> int:
        """Return how many lines (records) of the first bytes of a file fit this format; 0: it is another.

        Of a text these are whole lines, without a byte order mark.
        """

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        """Yield the requests of a file in its order, block by block.

        Args:
            path: the file.
            bad: counts bad lines.
            volumes: numbers the volumes.

        Raises:
            SsdgymError: the file cannot be read, or has more bad lines than `bad` allows.
        """


class WritableFormat(TraceFormat, Protocol):
    """One file format that can also be written."""

    @property
    def tick_ns(self) -> int:
        """Nanoseconds between two times that can be written."""

    @property
    def constants(self) -> Mapping[str, str]:
        """What is written, the same for every request, where records hold nothing."""

    def write(self, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
        """Write requests so that reading them again gives the same.

        Volumes keep their number, and their name where the format has names.

        Args:
            file: is written to.
            blocks: the requests, in order.
            volumes: what the field `volume` of the requests refers to.

        Raises:
            SsdgymError: the format cannot hold a request (a time between two ticks of its clock, an offset
                between two sectors, an operation or a second volume that it does not have), or the
                numbers of its volumes.
        """
