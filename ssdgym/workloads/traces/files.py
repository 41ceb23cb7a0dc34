"""Find and read trace files, plain or gzip, in blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from ssdgym.errors import SsdgymError

#: Environment variable: a folder in which relative trace paths are looked for, too.
TRACE_FOLDER = "SSDGYM_TRACES"

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 16


def find_trace(path: Path) -> Path:
    """Return where the trace is: as given, or in the folder named by SSDGYM_TRACES.

    Raises:
        SsdgymError: it is in neither place.
    """
    folder = os.environ.get(TRACE_FOLDER)
    candidates = [path, Path(folder) / path] if folder else [path]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    also = f" nor in {folder}" if folder else f" (the environment variable {TRACE_FOLDER} can name a folder)"
    raise SsdgymError(f"{path}: there is no such trace file here{also}; check the path.")


def line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file in blocks of whole lines, each with the number (from 1) of its first line.

    Every line ends with a newline; one is added to the last if it has none.

    Raises:
        SsdgymError: the file cannot be read, is damaged gzip, or has a line too long for a text trace.
    """
    first_line, rest = 1, b""
    for number, data in enumerate(_pieces(path)):
        data = data if number else data.removeprefix(_BYTE_ORDER_MARK)
        block, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield first_line, block + newline
            first_line += block.count(b"\n") + 1
        if len(rest) > _LONGEST_LINE_BYTES:
            raise SsdgymError(
                f"{path}: line {first_line} is longer than {_LONGEST_LINE_BYTES} bytes; give a text trace."
            )
    if rest:
        yield first_line, rest + b"\n"


def first_lines(path: Path, count: int) -> list[bytes]:
    """Return up to `count` lines from the start of the file, without their newlines."""
    for _, block in line_blocks(path):
        return block.splitlines()[:count]
    return []


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of about a block."""
    lines = 0
    parts: list[bytes] = []
    try:
        with _open(path) as file:
            # read1 keeps what comes before damaged data, so that the line can be named.
            while data := file.read1(_BLOCK_BYTES):
                parts.append(data)
                lines += data.count(b"\n")
                if sum(map(len, parts)) >= _BLOCK_BYTES:
                    yield b"".join(parts)
                    parts.clear()
            yield b"".join(parts)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SsdgymError(
            f"{path}: line {lines + 1} is where the gzip data is cut off or damaged; get the file again."
        ) from None
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None


def _open(path: Path) -> io.BufferedReader | gzip.GzipFile:
    """Open for reading; the content decides whether it is gzip, not the name."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    return gzip.open(path, "rb") if is_gzip else path.open("rb")
