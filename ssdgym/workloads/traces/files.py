"""Find trace files, and read them in blocks of whole lines."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.reading.containers import unpacked

#: The path of standard input.
STDIN = "-"
#: Environment variable that names the folder of traces.
TRACE_FOLDER = "SSDGYM_TRACES"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 16


@cache
def _spooled(path: Path) -> IO[bytes]:
    """Return a temporary file with the contents of a pipe; the end of the process removes the file."""
    file = tempfile.NamedTemporaryFile(prefix="ssdgym-pipe-")  # noqa: SIM115
    try:
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, file)
        file.flush()
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the pipe.") from None
    return file


def find_traces(path: Path) -> list[Path]:
    """Return the paths of the trace files that `path` names: a file, a folder, a pipe, or `-`.

    A relative path is looked for in the working folder, then in the folder that SSDGYM_TRACES names. Files of
    a folder are sorted by name, without hidden files. For `-` (standard input) and pipes, return the path of
    a copy.

    Raises:
        SsdgymError: there is no such file, the folder has no file, or the pipe cannot be read.
    """
    if str(path) == STDIN:
        path = Path("/dev/stdin")
    if path.is_fifo() or path.is_char_device():
        return [Path(_spooled(path).name)]
    folder = os.environ.get(TRACE_FOLDER)
    for candidate in [path, Path(folder) / path] if folder else [path]:
        if os.path.isfile(candidate):
            return [candidate]
        if os.path.isdir(candidate):
            if files := [file for file in _files_in(candidate) if not file.name.startswith(".")]:
                return files
            raise SsdgymError(f"{candidate}: the folder holds no file; name one that holds traces.")
    also = f" nor in {folder}" if folder else f" (the environment variable {TRACE_FOLDER} can name a folder)"
    raise SsdgymError(f"{path}: there is no such trace file here{also}; check the path.")


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise SsdgymError(
            f"{folder}: cannot be read ({error.strerror}); name a folder that holds traces."
        ) from None


def trace_called(name: str, folder: Path) -> Path | None:
    """Return the file in a folder whose name, or name before its first dot, is `name`; None if there is none.

    Raises:
        SsdgymError: there are several such files, or the folder cannot be read.
    """
    files = _files_in(folder)
    found = [path for path in files if path.name == name]
    found = found or [path for path in files if path.name.partition(".")[0] == name]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise SsdgymError(f"trace:{name} is the name of several files in {folder}: {names}; give one's path.")
    return found[0] if found else None


def line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file in blocks of whole lines, each after the number (from 1) of its first line.

    A newline is added to the last line if it has none. Too long lines and NUL bytes are errors.
    """
    first_line, rest = 1, b""
    for data in _gathered(path):
        end = data.rfind(b"\n") + 1
        if end:
            block = rest + data[:end]
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            wrong = [*np.flatnonzero(np.diff(ends, prepend=-1) > _LONGEST_LINE_BYTES)[:1]]
            if b"\0" in block:
                wrong.append(np.searchsorted(ends, block.index(b"\0")))
            if wrong:
                first = int(min(wrong))
                if first:
                    yield first_line, block[: ends[first - 1] + 1]
                raise _no_text(path, first_line + first, block[ends[first - 1] + 1 if first else 0 :])
            yield first_line, block
            first_line += len(ends)
            rest = b""
        rest += data[end:]
        if len(rest) > _LONGEST_LINE_BYTES:
            raise _no_text(path, first_line, rest)
    if b"\0" in rest:
        raise _no_text(path, first_line, rest)
    if rest:
        yield first_line, rest + b"\n"


def _no_text(path: Path, line: int, start: bytes) -> SsdgymError:
    if b"\0" in start[:_LONGEST_LINE_BYTES].partition(b"\n")[0]:
        reason = "holds a NUL byte, so the file is no text or was cut while it was written; get it again"
    else:
        reason = f"is longer than {_LONGEST_LINE_BYTES} bytes; give a text trace"
    return SsdgymError(f"{path}: line {line} {reason}.")


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first `count` bytes of the unpacked content of a file; fewer if it is shorter."""
    start = b""
    for piece in unpacked(path):
        start += piece
        if len(start) >= count:
            break
    return start[:count]


def without_marks(text: bytes) -> bytes:
    """Return text without the byte order marks at the start of its lines."""
    if BYTE_ORDER_MARK[:1] not in text or BYTE_ORDER_MARK not in text:
        return text
    return re.sub(rb"(?m)^(?:%b)+" % BYTE_ORDER_MARK, b"", text)


def _gathered(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces of about `_BLOCK_BYTES`, at least one, maybe empty."""
    parts: list[bytes] = []
    for piece in unpacked(path):
        parts.append(piece)
        if sum(map(len, parts)) >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts = []
    yield b"".join(parts)
