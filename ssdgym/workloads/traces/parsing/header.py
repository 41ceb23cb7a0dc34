"""The header that a text format starts with."""

from __future__ import annotations

from pathlib import Path

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.parsing.fields import content


def behind_header(
    path: Path, name: str, header: bytes, first_line: int, block: bytes
) -> tuple[int, bytes, bool]:
    """Return what follows the header, which is the first line with anything on it.

    Args:
        path: the file.
        name: of the format.
        header: the header.
        first_line: number of the first line of the block.
        block: whole lines.

    Returns:
        The number of the line behind the header, the rest of the block, and whether the header was there.

    Raises:
        SsdgymError: another line is the first.
    """
    while block:
        line, _, block = block.partition(b"\n")
        if content(line):
            if content(line).lower() != header.lower():
                raise SsdgymError(
                    f"{path}: line {first_line} is not the header '{header.decode()}' of the format {name}; "
                    "add it or name another format."
                )
            return first_line + 1, block, True
        first_line += 1
    return first_line, b"", False
