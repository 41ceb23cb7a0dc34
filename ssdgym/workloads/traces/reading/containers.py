"""Unpack trace files; the first bytes of a file determine how it is packed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ssdgym.errors import SsdgymError
from ssdgym.files import DAMAGED_ZIP

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PLAIN = "plain"
_PIECE_BYTES = 1 << 20
#: A file is refused once its unpacked bytes exceed this multiple of its packed bytes, and the number below.
_LARGEST_RATIO = 500
_RATIO_MATTERS_BYTES = 64 << 20

_DAMAGED = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError, *DAMAGED_ZIP)

#: Pieces of the unpacked file, each with the numbers of packed and unpacked bytes so far.
_Pieces = Iterator[tuple[bytes, int, int]]


def _members(new: Callable[[], Any]) -> Callable[[IO[bytes]], _Pieces]:
    """Return a function that unpacks a file of consecutive members, each with an unpacker that `new` makes.

    The file objects of bz2, lzma and zstd end without an error if the beginning of a later member is damaged.
    """

    def pieces(file: IO[bytes]) -> _Pieces:
        taken = given = 0
        unpacker, data = new(), b""
        is_fresh = False
        while True:
            if unpacker.needs_input and not data:
                data = file.read(_PIECE_BYTES)
                taken += len(data)
                if not data:
                    break
            # Some packers add zeros after the last member.
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

    return pieces


def _zstd_unpacker() -> zstd.ZstdDecompressor:
    # Windows of 2 GiB are allowed, as with zstd --long=31.
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 31})


def _gzip(file: IO[bytes]) -> _Pieces:
    unpacked, given = gzip.GzipFile(fileobj=file), 0
    # If a part is damaged, read1 returns all bytes before it; read would not.
    while piece := unpacked.read1(_PIECE_BYTES):
        given += len(piece)
        yield piece, file.tell(), given


def _zip(file: IO[bytes]) -> _Pieces:
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            names = ", ".join(member.filename for member in members[:3])
            raise SsdgymError(
                f"{file.name}: is a zip archive of {len(members)} files ({names[:80]!a}); unpack it and give "
                "one of them, or their folder."
            )
        given = 0
        with archive.open(members[0]) as member:
            while piece := member.read(_PIECE_BYTES):
                given += len(piece)
                yield piece, members[0].compress_size, given


def _plain(file: IO[bytes]) -> _Pieces:
    return ((piece, 0, 0) for piece in iter(lambda: file.read(_PIECE_BYTES), b""))


#: For each container: its first bytes, its name, and the function that unpacks it.
_PACKED: tuple[tuple[bytes, str, Callable[[IO[bytes]], _Pieces]], ...] = (
    (rb"\x1f\x8b", "gzip", _gzip),
    (rb"BZh", "bzip2", _members(bz2.BZ2Decompressor)),
    (rb"\xfd7zXZ\x00", "xz", _members(lzma.LZMADecompressor)),
    (rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", "zstd", _members(_zstd_unpacker)),
    (rb"PK\x03\x04", "zip", _zip),
)
#: For each kind of file that cannot be read: its first bytes, and a description with advice.
_NAMED: tuple[tuple[bytes, str], ...] = (
    (rb".{257}ustar", "a tar archive; unpack it and give a file in it, or the folder"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it"),
    (rb"Rar!\x1a\x07", "a RAR archive; unpack it"),
    (rb"PK\x05\x06", "an empty zip archive; give a file with requests in it"),
    (rb"\x1f\x9d", "packed by compress; unpack it by gunzip"),
    (rb"\x04\x22\x4d\x18", "packed by lz4; unpack it by lz4 -d"),
    (rb"\xff\xfe|\xfe\xff", "text in UTF-16; convert it by iconv -f UTF-16 -t UTF-8"),
    (rb"PAR1", "a Parquet file; convert it to CSV"),
    (rb"\x89HDF\r\n", "an HDF5 file; convert it to CSV"),
    (rb"SQLite format 3\x00", "an SQLite database; convert it to CSV"),
    (rb"\x07tae|eat\x07", "binary output of blktrace; give what blkparse prints of it"),
)
_LONGEST_MAGIC_BYTES = 262


def _found(start: bytes, patterns: Sequence[tuple[Any, ...]]) -> int | None:
    """Return the number of the first pattern that the first bytes of a file match; None if there is none."""
    fits = (n for n, (pattern, *_) in enumerate(patterns) if re.match(pattern, start, re.DOTALL))
    return next(fits, None)


def _refuse_named(path: Path, start: bytes, inside: str = "") -> None:
    number = _found(start, _NAMED)
    if number is not None:
        raise SsdgymError(f"{path}: {inside}is {_NAMED[number][1]}.")


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file in pieces of at most 1 MiB.

    Raises:
        SsdgymError: the file cannot be read, is damaged, or is of a kind that cannot be unpacked.
    """
    lines = 0
    try:
        file = path.open("rb")
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None
    name = _PLAIN
    with file:
        try:
            start = file.read(_LONGEST_MAGIC_BYTES)
            file.seek(0)
            _refuse_named(path, start)
            number = _found(start, _PACKED)
            name, pieces = (_PLAIN, _plain) if number is None else _PACKED[number][1:]
            for piece, taken, given in pieces(file):
                if given > max(_RATIO_MATTERS_BYTES, _LARGEST_RATIO * taken):
                    raise SsdgymError(
                        f"{path}: line {lines + 1} is where the {name} data has unpacked to more than "
                        f"{_LARGEST_RATIO} times its size; unpack it yourself if it is a trace."
                    )
                if name != _PLAIN:
                    if not lines:
                        _refuse_named(path, piece[:_LONGEST_MAGIC_BYTES], f"what the {name} data holds ")
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
