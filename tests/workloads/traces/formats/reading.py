"""Read a trace file by its format alone, without the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.registry import format_of

#: Time in ns, offset and size in bytes, name of the volume, operation.
Row = tuple[int, int, int, str, int]


def write_lines(folder: Path, lines: list[str], name: str = "trace") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


def read(path: Path, name: str = "auto", skip_bad: int = 0) -> list[Row]:
    """Return the requests of a file in its order."""
    volumes = VolumeNumbers(path)
    blocks = list(format_of(path, name).read(path, BadLines(path, skip_bad), volumes))
    names = volumes.names
    rows = [row for block in blocks for row in block.tolist()]
    return [(time, offset, size, names[volume], op) for time, offset, size, volume, op in rows]


def failure(path: Path, name: str = "auto", skip_bad: int = 0) -> str:
    """Return the one sentence with which reading fails, without the path that it starts with."""
    with pytest.raises(SsdgymError) as caught:
        read(path, name, skip_bad)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.endswith(".")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")
