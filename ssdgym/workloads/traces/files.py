"""Find trace files, and read them in blocks of whole lines."""

from __future__ import annotations

import bz2
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import is_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PLAIN = "plain"
_PIECE_BYTES = 1 << 20
#: A file that unpacks to more than so many bytes per byte is refused, above the size that matters.
_LARGEST_RATIO = 500
_RATIO_MATTERS_BYTES = 64 << 20

_DAMAGED = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError)


class _Unpacker(Protocol):
    """Unpacks one member of a packed file; the interface of bz2, lzma and zstd in the standard library."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipUnpacker:
    """zlib's unpacker with that interface."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


#: What a packed file starts with, what it is called, and what unpacks one member of it.
_PACKERS: tuple[tuple[bytes, str, Callable[[], _Unpacker]], ...] = (
    (b"\x1f\x8b", "gzip", _GzipUnpacker),
    (b"BZh", "bzip2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMADecompressor),
    (b"\x28\xb5\x2f\xfd", "zstd", zstd.ZstdDecompressor),
)


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces of at most 1 MiB."""
    lines = 0
    try:
        file = path.open("rb")
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None
    with file:
        name, pieces = _opened(file)
        try:
            for piece, taken, given in pieces:
                if given > max(_RATIO_MATTERS_BYTES, _LARGEST_RATIO * taken):
                    raise SsdgymError(
                        f"{path}: line {lines + 1} is where the {name} data has unpacked to more than "
                        f"{_LARGEST_RATIO} times its size; unpack it yourself if it is a trace."
                    )
                if name != _PLAIN:
                    lines += piece.count(b"\n")
                yield piece
        except _DAMAGED as error:
            if name == _PLAIN:
                reason = getattr(error, "strerror", None) or error
                raise SsdgymError(f"{path}: cannot be read ({reason}); check the file.") from None
            raise SsdgymError(
                f"{path}: line {lines + 1} is where the {name} data is cut off or damaged; get the file "
                "again."
            ) from None


def _opened(file: IO[bytes]) -> tuple[str, Iterator[tuple[bytes, int, int]]]:
    start = file.read(6)
    file.seek(0)
    for magic, name, unpacker in _PACKERS:
        if start.startswith(magic):
            return name, _members(file, unpacker)
    return _PLAIN, ((piece, 0, 0) for piece in iter(lambda: file.read(_PIECE_BYTES), b""))


def _members(file: IO[bytes], new: Callable[[], _Unpacker]) -> Iterator[tuple[bytes, int, int]]:
    """Yield pieces, each with the bytes taken and given so far; one member may follow the other."""
    taken = given = 0
    unpacker, data = new(), b""
    is_fresh = False
    while True:
        if unpacker.needs_input and not data:
            data = file.read(_PIECE_BYTES)
            taken += len(data)
            if not data:
                break
        # Some packers fill up with zeros behind the last member.
        if is_fresh and not (data := data.lstrip(b"\0")):
            continue
        is_fresh = False
        piece = unpacker.decompress(data, _PIECE_BYTES)
        data = b""
        given += len(piece)
        if piece:
            yield piece, taken, given
        if unpacker.eof:
            data, unpacker, is_fresh = unpacker.unused_data, new(), True
    if not is_fresh:
        raise EOFError


#: Environment variable: a folder in which traces are looked for.
TRACE_FOLDER = "SSDGYM_TRACES"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 16


def find_trace(path: Path) -> Path:
    """Return the path of a trace file: as given, or in the folder named by SSDGYM_TRACES."""
    folder = os.environ.get(TRACE_FOLDER)
    candidates = [path, Path(folder) / path] if folder else [path]
    for candidate in candidates:
        if is_file(candidate):
            return candidate
    also = f" nor in {folder}" if folder else f" (the environment variable {TRACE_FOLDER} can name a folder)"
    raise SsdgymError(f"{path}: there is no such trace file here{also}; check the path.")


def trace_called(name: str, folder: Path) -> Path | None:
    """Return the file of a name in a folder; None without one."""
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
    """Return the first bytes of the unpacked file."""
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
