"""The trace formats that can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.cloudphysics import CLOUDPHYSICS
from ssdgym.workloads.traces.files import first_lines
from ssdgym.workloads.traces.msr import MSR
from ssdgym.workloads.traces.records import BadLines, Records

_SNIFFED_LINES = 16


class Reader(Protocol):
    """Reads one file format."""

    @property
    def name(self) -> str:
        """What the configuration calls the format."""

    def sniff(self, lines: list[bytes]) -> bool:
        """Tell whether the first lines of a file look like this format."""

    def read(self, path: Path, bad: BadLines, limit: int | None = None) -> Iterator[Records]:
        """Yield the requests of a file in its order, at most `limit` in all; bad lines go to `bad`."""


#: Readers by the name of their format.
READERS: dict[str, Reader] = {reader.name: reader for reader in (CLOUDPHYSICS, MSR)}


def reader_for(path: Path, name: str) -> Reader:
    """Return the reader called `name`, or, for ``auto``, the one that recognises the file.

    Raises:
        SsdgymError: the file is empty, cannot be read, or no reader recognises it.
    """
    lines = first_lines(path, _SNIFFED_LINES)
    if not lines:
        raise SsdgymError(f"{path}: the trace is empty; give a file with requests in it.")
    if name != "auto":
        return READERS[name]
    for reader in READERS.values():
        if reader.sniff(lines):
            return reader
    raise SsdgymError(
        f"{path}: line 1 has {_columns(lines[0])} and the file looks like none of the formats "
        f"{', '.join(READERS)}; convert it to one of them."
    )


def _columns(line: bytes) -> str:
    if b"\0" in line or not line.isascii():
        return "binary data"
    number = line.count(b",") + 1
    return f"{number} column{'' if number == 1 else 's'}"
