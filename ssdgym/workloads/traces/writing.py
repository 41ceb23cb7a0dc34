"""Write traces, and convert between formats."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically
from ssdgym.requests import FLUSH, OP_NAMES
from ssdgym.types import IntArray
from ssdgym.workloads.traces.reading.containers import zstd
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.lines import TEN_YEARS_NS
from ssdgym.workloads.traces.record import Records, RecordSource, Volumes
from ssdgym.workloads.traces.registry import WritableFormat, format_called, formats


@dataclass(frozen=True)
class Values:
    """The requests of a block in the units of a format, arrays of shape (n,)."""

    ticks: IntArray
    offset: IntArray
    size: IntArray
    op: npt.NDArray[np.uint8]
    volume: npt.NDArray[np.uint16]


def values(blocks: Iterable[Records], target: WritableFormat) -> Iterator[Values]:
    """Yield the requests in the units of a format; times count from the first request."""
    number, base_ns, only = 1, 0, -1
    for records in blocks:
        if not len(records):
            continue
        if number == 1:
            base_ns, only = int(records["time_ns"][0]), int(records["volume"][0])
        elapsed = records["time_ns"] - base_ns
        _check(records, elapsed, number, only, target)
        number += len(records)
        yield Values(
            elapsed // target.tick_ns,
            records["offset_bytes"] // target.offset_unit,
            records["size_bytes"].astype(np.int64) // target.size_unit,
            records["op"],
            records["volume"],
        )


def _check(records: Records, elapsed: IntArray, number: int, only: int, target: WritableFormat) -> None:
    offset, size = records["offset_bytes"], records["size_bytes"]
    is_access = records["op"] != FLUSH
    # Which requests are wrong, why, and the value that goes into the reason.
    checks = (
        (
            ~np.isin(records["op"], list(target.ops)),
            "is a {}, which the format {target.name} does not have; keep other operations only by the "
            "transform only",
            np.array(OP_NAMES)[records["op"]],
        ),
        (
            (records["volume"] != only) & (not target.has_volumes),
            "is on another volume, and the format {target.name} has one; keep one by the transform volumes",
            records["volume"],
        ),
        (
            elapsed % target.tick_ns != 0,
            "comes {} ns after the first, and the clock of the format {target.name} has ticks of "
            "{target.tick_ns} ns; round times (--round-times)",
            elapsed,
        ),
        (np.abs(elapsed) > TEN_YEARS_NS, "comes more than 10 years from the first; leave it out", elapsed),
        (
            is_access & (offset % target.offset_unit != 0),
            "starts at byte {}, and the format {target.name} counts in {target.offset_unit} bytes; use the "
            "transform align",
            offset,
        ),
        (
            is_access & (size % target.size_unit != 0),
            "has {} bytes, and the format {target.name} counts in {target.size_unit} bytes; use the "
            "transform align",
            size,
        ),
    )
    for wrong, text, values in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            reason = text.format(values[row], target=target)
            raise SsdgymError(f"request {number + row} {reason}, or choose another format.")


def volume_texts(volumes: Volumes, refused: str, *, numbers: bool) -> list[str]:
    """Return how volumes are written: by their names, or by their numbers where names do not do."""
    names = list(volumes.names)
    fit = all(
        name.isascii() and name.isprintable() and not set(name) & set(refused + ' \t"#') for name in names
    )
    if fit and (not numbers or all(name.isdigit() for name in names)):
        return names
    return [str(number) for number in range(len(names))]


def texts_of(codes: npt.NDArray[np.integer], texts: Mapping[int, str | int]) -> npt.NDArray[np.object_]:
    """Return the text (number) of each code, shape (n,)."""
    table = np.array([texts.get(code, "") for code in range(max(texts) + 1)], object)
    return table[codes]


@dataclass(frozen=True)
class Conversion:
    """What has been written.

    Attributes:
        requests: how many.
        rounded: how many of them have another time than before.
        renamed: volumes that have another name in the new file, with that name.
    """

    requests: int
    rounded: int
    renamed: dict[str, str]


def writable_names() -> list[str]:
    """Return the names of the formats that can be written."""
    return [name for name, known in formats().items() if getattr(known, "ops", ())]


def writable_format(name: str) -> WritableFormat:
    """Return the format of that name.

    Raises:
        SsdgymError: there is none, or it can only be read.
    """
    found = format_called(name)
    if found is None or found.name not in writable_names():
        problem = "is no trace format" if found is None else "can be read but not written"
        raise SsdgymError(f"the format '{name}' {problem}; write one of {', '.join(writable_names())}.")
    return cast(WritableFormat, found)


def convert(
    source: RecordSource,
    out: Path,
    target: WritableFormat,
    *,
    round_times: bool = False,
    announce: Callable[[int], None] = lambda requests: None,
) -> Conversion:
    """Write a fresh source to a trace file, whole or not at all, packed by its ending (gz, bz2, xz, zst).

    The new file is read back before it takes its place.

    Args:
        source: is used up.
        out: replaced if it exists.
        target: the format.
        round_times: round times down to the clock of the format, counted from the first request.
        announce: called now and then with the number of requests written.

    Raises:
        SsdgymError: the format cannot hold a request, the source has none, or the file cannot be written.
    """
    blocks = _Blocks(source, target.tick_ns if round_times else 1, announce)
    names: list[str] = []

    def write(file: IO[bytes]) -> None:
        with _packed(file, out.suffix) as packed:
            target.write(packed, iter(blocks), source.volumes)
        if not blocks.requests:
            raise SsdgymError(f"{out}: there is no request to write; leave out some transforms.")
        file.flush()
        names.extend(_read_back(Path(file.name), out, target, blocks.requests))

    write_atomically(out, write)
    before = [source.volumes.names[volume] for volume in blocks.volumes]
    renamed = {old: new for old, new in zip(before, names, strict=True) if old != new}
    return Conversion(blocks.requests, blocks.rounded, renamed)


def _read_back(path: Path, out: Path, target: WritableFormat, requests: int) -> tuple[str, ...]:
    """Return the names of the volumes in a file just written, in the order in which they first appear."""
    volumes = VolumeNumbers(path)
    try:
        found = sum(len(records) for records in target.read(path, BadLines(path, 0), volumes))
    except SsdgymError as error:
        raise SsdgymError(
            f"{out}: what was written as {target.name} cannot be read back ({error}); choose another format."
        ) from error
    if found != requests:
        raise SsdgymError(
            f"{out}: of {requests} requests written as {target.name} {found} are read back; "
            "choose another format."
        )
    return volumes.names


class _Blocks:
    """The chunks of a source: counted, timed from the first request, rounded."""

    def __init__(self, source: RecordSource, tick_ns: int, announce: Callable[[int], None]) -> None:
        self._source = source
        self._tick_ns = tick_ns
        self._announce = announce
        self.requests = 0
        self.rounded = 0
        #: Keys only: the volumes in the order in which they first appear.
        self.volumes: dict[int, None] = {}

    def __iter__(self) -> Iterator[Records]:
        first_ns = None
        while len(records := self._source.chunk()):
            first_ns = int(records["time_ns"][0]) if first_ns is None else first_ns
            records["time_ns"] -= first_ns
            excess = records["time_ns"] % self._tick_ns
            records["time_ns"] -= excess
            self.rounded += int(np.count_nonzero(excess))
            self.requests += len(records)
            first = np.unique(records["volume"], return_index=True)[1]
            self.volumes.update(dict.fromkeys(records["volume"][np.sort(first)].tolist()))
            self._announce(self.requests)
            yield records


def _packed(file: IO[bytes], suffix: str) -> AbstractContextManager[Any]:
    """Return what packs into `file`, which stays open; the same records make the same bytes."""
    match suffix:
        case ".gz":
            return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
        case ".bz2":
            return bz2.BZ2File(file, "wb")
        case ".xz":
            return lzma.LZMAFile(file, "wb")
        case ".zst":
            return zstd.ZstdFile(file, "wb", options={zstd.CompressionParameter.checksum_flag: 1})
    return nullcontext(file)
