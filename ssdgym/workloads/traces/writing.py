"""Write traces, and convert traces between formats."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically
from ssdgym.requests import FLUSH, OP_NAMES
from ssdgym.types import IntArray
from ssdgym.workloads.traces.reading.containers import zstd
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.lines import TEN_YEARS_NS
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.record import Records, RecordSource, Volumes
from ssdgym.workloads.traces.registry import formats

if TYPE_CHECKING:
    import pyarrow as pa


def write(target: TextFormat, file: IO[bytes], blocks: Iterable[Records], volumes: Volumes) -> None:
    """Write requests to a file, from which the same requests can be read.

    Times count from the first request. Volumes keep their names if the format can represent all of them;
    otherwise the names are the numbers of the volumes.

    Args:
        target: a format that can be written.
        file: file to write to.
        blocks: the requests, in order; no block is empty.
        volumes: the volumes to which the field `volume` of the requests refers.

    Raises:
        SsdgymError: the format cannot represent a request (a time between two ticks of its clock, an offset
            between two sectors, an unknown operation, or a second volume).
    """
    import pyarrow as pa
    import pyarrow.csv

    known, names = target.columns, _written_volumes(target, volumes)
    op_texts = np.array([target.op_texts.get(op, "") for op in range(len(OP_NAMES))], object)
    for line in [target.header] if target.header is not None else []:
        file.write(line.encode() + b"\n")
    for (name, *_), line in product(names, target.opening):
        file.write(line.format(name).encode() + b"\n")
    options = pa.csv.WriteOptions(include_header=False, delimiter=target.separator, quoting_style="none")
    number, first = 1, None
    for records in blocks:
        first = records[0] if first is None else first
        elapsed = records["time_ns"] - first["time_ns"]
        _check(records, elapsed, number, int(first["volume"]), target)
        number += len(records)
        ticks = elapsed // target.tick_ns
        columns: dict[str, Any] = {
            "time": _decimals(ticks, target.decimals) if target.decimals else ticks,
            "offset": records["offset_bytes"] // known.offset_unit,
            "size": records["size_bytes"].astype(np.int64) // known.size_unit,
            "op": op_texts[records["op"]],
        }
        for part, column in enumerate(known.volumes):
            columns[known.names[column]] = np.array([name[part] for name in names], object)[records["volume"]]
        for column_name, text in target.constants.items():
            columns[column_name] = np.full(len(records), text, object)
        pa.csv.write_csv(pa.table({name: columns[name] for name in known.names}), file, options)


def _check(records: Records, elapsed: IntArray, number: int, only: int, target: TextFormat) -> None:
    known, offset, size = target.columns, records["offset_bytes"], records["size_bytes"]
    is_access = records["op"] != FLUSH
    # Each check: whether each request is wrong, the reason, and the values for the {} in the reason.
    checks = (
        (
            ~np.isin(records["op"], list(target.op_texts)),
            "is a {}, which the format {target.name} does not have; keep other operations only by the "
            "transform only",
            np.array(OP_NAMES)[records["op"]],
        ),
        (
            (records["volume"] != only) & (not known.volumes),
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
            is_access & (offset % known.offset_unit != 0),
            "starts at byte {}, and the format {target.name} counts in {target.columns.offset_unit} bytes; "
            "use the transform align",
            offset,
        ),
        (
            is_access & (size % known.size_unit != 0),
            "has {} bytes, and the format {target.name} counts in {target.columns.size_unit} bytes; use the "
            "transform align",
            size,
        ),
    )
    for wrong, text, values in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            reason = text.format(values[row], target=target)
            raise SsdgymError(f"request {number + row} {reason}, or choose another format.")


def _volume_texts(volumes: Volumes, refused: str, *, numbers: bool) -> list[str]:
    """Return the names of the volumes if the format can represent all of them, otherwise their numbers.

    `refused` are characters that names may not contain; `numbers` is whether names must be whole numbers.
    """
    names = list(volumes.names)
    fit = all(
        name.isascii() and name.isprintable() and not set(name) & set(refused + ' \t"#') for name in names
    )
    if fit and (not numbers or all(name.isdigit() for name in names)):
        return names
    return [str(number) for number in range(len(names))]


def _written_volumes(target: TextFormat, volumes: Volumes) -> list[tuple[str, ...]]:
    """Return for each volume the texts of the columns that name the volume."""
    named = _volume_texts(volumes, target.separator or "", numbers=target.numbered_volumes)
    if len(target.columns.volumes) < 2:
        return [(text,) for text in named]
    split: list[tuple[str, ...]] = [_host_and_disk(text) for text in named]
    # Different names may lead to equal columns, for example hm and hm_0; different numbers do not.
    distinct = len(set(split)) == len(split)
    return split if distinct else [(str(number), "0") for number in range(len(named))]


def _host_and_disk(name: str) -> tuple[str, str]:
    host, _, disk = name.rpartition("_")
    return (host, disk) if host and disk.isdigit() else (name, "0")


def _decimals(ticks: IntArray, places: int) -> pa.Array:
    """Return whole numbers as texts with a decimal point before the last `places` digits.

    pyarrow would write small decimals with an exponent, such as 0E-9.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, fraction = np.divmod(np.abs(ticks), 10**places)
    sign = pa.array(np.where(ticks < 0, "-", ""))
    digits = pc.utf8_lpad(pc.cast(pa.array(fraction), pa.string()), places, "0")
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, pc.cast(pa.array(whole), pa.string()), ""), digits, "."
    )


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion.

    Attributes:
        requests: number of requests written.
        rounded: number of requests whose times were rounded.
        renamed: new names of the volumes whose names changed, by old name.
    """

    requests: int
    rounded: int
    renamed: dict[str, str]


def writable_names() -> list[str]:
    """Return the names of the formats that can be written."""
    return [name for name, known in formats().items() if getattr(known, "op_texts", ())]


def writable_format(name: str) -> TextFormat:
    """Return the format called `name`.

    Raises:
        SsdgymError: there is no such format, or files of it can only be read.
    """
    found = formats().get(name)
    if isinstance(found, TextFormat) and found.op_texts:
        return found
    problem = "is no trace format" if found is None else "can be read but not written"
    raise SsdgymError(f"the format '{name}' {problem}; write one of {', '.join(writable_names())}.")


def convert(
    source: RecordSource,
    out: Path,
    target: TextFormat,
    *,
    round_times: bool = False,
    announce: Callable[[int], None] = lambda requests: None,
) -> Conversion:
    """Write the records of a source to a trace file, and read the file back to check it.

    Args:
        source: source of the records, at its start. All records are read.
        out: path of the new file, which replaces an existing file. The file is compressed if its name ends in
            .gz, .bz2, .xz or .zst.
        target: format of the new file.
        round_times: whether to round times since the first request down to ticks of the format's clock.
        announce: called after each chunk with the number of requests written so far.

    Raises:
        SsdgymError: the format cannot represent a request, the source is empty, or writing fails.
    """
    blocks = _Blocks(source, target.tick_ns if round_times else 1, announce)
    names: list[str] = []

    def fill(file: IO[bytes]) -> None:
        with _packed(file, out.suffix) as packed:
            write(target, packed, iter(blocks), source.volumes)
        if not blocks.requests:
            raise SsdgymError(f"{out}: there is no request to write; leave out some transforms.")
        file.flush()
        names.extend(_read_back(Path(file.name), out, target, blocks.requests))

    write_atomically(out, fill)
    before = [source.volumes.names[volume] for volume in blocks.volumes]
    renamed = {old: new for old, new in zip(before, names, strict=True) if old != new}
    return Conversion(blocks.requests, blocks.rounded, renamed)


def _read_back(path: Path, out: Path, target: TextFormat, requests: int) -> tuple[str, ...]:
    """Read the file, check that it has `requests` requests, and return its volumes in order of appearance."""
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
    """The chunks of a source, with times since the first request, rounded down to multiples of `tick_ns`."""

    def __init__(self, source: RecordSource, tick_ns: int, announce: Callable[[int], None]) -> None:
        self._source = source
        self._tick_ns = tick_ns
        self._announce = announce
        self.requests = 0
        self.rounded = 0
        #: Keys: the numbers of the volumes in the order in which they first appear.
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
    """Return a file that compresses into `file` as `suffix` says; equal content leads to equal bytes."""
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
