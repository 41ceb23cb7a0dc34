"""Find trace files, and read them in blocks of whole lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import is_file
from ssdgym.workloads.traces.unpacking import unpacked

#: Environment variable: a folder in which traces are looked for.
TRACE_FOLDER = "SSDGYM_TRACES"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 16


def find_trace(path: Path) -> Path:
    """Return the path of a trace file: as given, or in the folder named by SSDGYM_TRACES.

    Raises:
        SsdgymError: it is in neither place.
    """
    folder = os.environ.get(TRACE_FOLDER)
    candidates = [path, Path(folder) / path] if folder else [path]
    for candidate in candidates:
        if is_file(candidate):
            return candidate
    also = f" nor in {folder}" if folder else f" (the environment variable {TRACE_FOLDER} can name a folder)"
    raise SsdgymError(f"{path}: there is no such trace file here{also}; check the path.")


def trace_called(name: str, folder: Path) -> Path | None:
    """Return the file of a name in a folder; None without one.

    Args:
        name: whole name of the file, or its part up to the first dot.
        folder: where to look.

    Raises:
        SsdgymError: the folder cannot be read, or has several such files.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise SsdgymError(
            f"{folder}: cannot be read ({error.strerror}); name a folder that holds traces."
        ) from None
    found = [path for path in files if path.name == name]
    found = found or [path for path in files if path.name.partition(".")[0] == name]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise SsdgymError(f"trace:{name} is the name of several files in {folder}: {names}; give one's path.")
    return found[0] if found else None


def line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file in blocks of whole lines, each with the number (from 1) of its first line.

    Every line ends with a newline; one is added to the last if it has none.

    Raises:
        SsdgymError: the file cannot be read or unpacked, or has a line too long for a text trace.
    """
    first_line, rest = 1, b""
    for data in _gathered(path):
        block, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            block += newline
            usual = _before_long_line(block)
            if usual:
                yield first_line, usual
            first_line += count_lines(usual)
        if len(rest) > _LONGEST_LINE_BYTES or (newline and len(usual) < len(block)):
            raise SsdgymError(
                f"{path}: line {first_line} is longer than {_LONGEST_LINE_BYTES} bytes; give a text trace."
            )
    if rest:
        yield first_line, rest + b"\n"


def _before_long_line(block: bytes) -> bytes:
    """Return the whole lines before the first that is too long for a text trace."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    long = np.flatnonzero(np.diff(ends, prepend=-1) > _LONGEST_LINE_BYTES)
    if not len(long):
        return block
    return block[: ends[long[0] - 1] + 1] if long[0] else b""


def count_lines(block: bytes) -> int:
    """Return how many lines end in a block."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of the unpacked file.

    Args:
        path: the file.
        count: how many, fewer of a short file.

    Raises:
        SsdgymError: the file cannot be read or unpacked.
    """
    start = b""
    for piece in unpacked(path):
        start += piece
        if len(start) >= count:
            break
    return start[:count]


def without_mark(start: bytes) -> bytes:
    """Return the first bytes of a text without its byte order mark."""
    return start.removeprefix(BYTE_ORDER_MARK)


def _gathered(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes in pieces of about a block, without the byte order mark."""
    parts: list[bytes] = []
    is_start = True
    for piece in unpacked(path):
        parts.append(piece)
        if sum(map(len, parts)) < _BLOCK_BYTES:
            continue
        data, parts = b"".join(parts), []
        yield without_mark(data) if is_start else data
        is_start = False
    data = b"".join(parts)
    yield without_mark(data) if is_start else data
