"""Read the unpacked bytes of a file: gz, bz2, xz and zst, recognised by their first bytes."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from ssdgym.errors import SsdgymError

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
    """Yield the unpacked bytes of a file in pieces of at most 1 MiB.

    Raises:
        SsdgymError: the file cannot be read, is cut off, damaged, or unpacks to far too much.
    """
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
