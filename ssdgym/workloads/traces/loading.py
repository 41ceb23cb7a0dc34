"""Configure and load traces from files, which are parsed once; several files are merged into one trace."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, PlainValidator, model_validator
from pydantic_core import PydanticKnownError

from ssdgym.errors import SsdgymError, shown
from ssdgym.files import file_hash
from ssdgym.types import IntArray
from ssdgym.workloads.base import Ahead, next_merged
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.traces.cache import StoredTrace, kept, stored, write_trace
from ssdgym.workloads.traces.files import find_traces
from ssdgym.workloads.traces.formats.blkparse import BLKPARSE, Events
from ssdgym.workloads.traces.reading.columns import parse_columns
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.lines import TEN_YEARS_NS
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.record import RecordCursor, Records
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.registry import AUTO, FORMATS, TraceFormat, format_of, formats

#: Numbers that change when a file changes; see `file_stamp`.
Stamp = tuple[int, ...]
#: Most records of all files together that are in memory while files are merged.
_HELD = 1 << 21
#: How the volumes of a trace share one address space; see `TraceConfig`.
VolumeLayout = Literal["end_to_end", "overlay"]


def _known_format(name: Any) -> Any:
    """Return the name of a known format; refuse an unknown name with a message like those of pydantic."""
    names = [AUTO, *formats()]
    if name not in names:
        *others, last = (repr(known) for known in names)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})
    return name


FormatName = Annotated[str, PlainValidator(_known_format)]


def _columns_text(text: str) -> str:
    try:
        parse_columns(text)
    except ValueError as error:
        raise ValueError(f"{text[:100]!r} {error}") from None
    return text


ColumnsText = Annotated[str, AfterValidator(_columns_text)]


def _is_path(value: Any) -> Any:
    """Return the path or paths; refuse other values with a single error, while pydantic has one per type."""
    paths = value if isinstance(value, list | tuple) else [value]
    if paths and all(isinstance(path, str | Path) for path in paths):
        return value
    raise ValueError(f"must be a file, a folder or a list of files, not {shown(value)}")


@workload_kind
class TraceConfig(PlayedConfig):
    """A trace from one or several files."""

    kind: Literal["trace"] = "trace"
    path: Annotated[Path | tuple[Path, ...], BeforeValidator(_is_path)] = Field(
        description="The file, plain or packed (gz, bz2, xz, zst, zip); a relative path is also looked for in"
        " the folder that the environment variable SSDGYM_TRACES names. Several files, or those in a folder,"
        " are merged into one trace by time; volumes with equal names become one volume."
    )
    format: FormatName = Field("auto", description="Format of the file; auto: recognised from its content.")
    columns: ColumnsText | None = Field(
        None,
        description="Columns of a text file of another format, such as"
        " `time:ms disk offset:B size:B op:1=read`; see the page on workloads.",
    )
    events: Events = Field("issued", description="Events of a blkparse text that are read as requests.")
    skip_bad: NonNegativeInt = Field(0, description="Most bad lines of a file, which are left out.")
    # SSDsim reads the column of the device but ignores it.
    volumes: VolumeLayout = Field(
        "end_to_end",
        description="end_to_end: the address spaces of volumes follow each other; overlay: equal addresses of"
        " different volumes are the same place, as in SSDsim.",
    )

    @model_validator(mode="after")
    def _has_one_format(self) -> TraceConfig:
        if self.columns is not None and self.format != AUTO:
            raise ValueError(f"has both columns and the format {self.format}; leave one out")
        return self

    @property
    def label(self) -> str:
        """See `PlayedConfig`."""
        if isinstance(self.path, Path):
            return str(self.path)
        return f"{self.path[0]} and {len(self.path) - 1} more" if self.path[1:] else str(self.path[0])

    def files(self) -> list[Path]:
        """Return the paths of the files; see `find_traces`."""
        paths = [self.path] if isinstance(self.path, Path) else self.path
        return [file for path in paths for file in find_traces(path)]

    def source(self, seed: int) -> RecordCursor:
        """See `PlayedConfig`."""
        records = RecordCursor(load_trace(self))
        overlay = self.volumes == "overlay"
        records.volumes = replace(records.volumes, overlay=overlay, trace=self.label)
        return records

    def depends_on(self, seed: int) -> tuple[Stamp, int]:
        """See `PlayedConfig`; records of a trace do not depend on the seed."""
        return tuple(value for path in self.files() for value in file_stamp(path)), 0

    def origin(self) -> dict[str, Any]:
        """See `PlayedConfig`; the facts include the fields of `Understood`."""
        trace = load_trace(self)
        return {"format": trace.format, **trace.understood, "skipped_lines": trace.skipped_lines}

    def report(self, logical_pages: int, page_size: int, seed: int) -> dict[str, int]:
        """See `PlayedConfig`."""
        report = super().report(logical_pages, page_size, seed)
        return {**report, "skipped_lines": load_trace(self).skipped_lines}

    def trace_hashes(self) -> list[str]:
        """See `WorkloadConfig`."""
        return [_hash(path, file_stamp(path)) for path in self.files()]

    def code_hashes(self) -> list[str]:
        """See `WorkloadConfig`."""
        return FORMATS.code_hashes(load_trace(self).format)


def load_trace(config: TraceConfig) -> StoredTrace:
    """Return the parsed trace, from the cache if its files have been parsed before.

    Warn of implausible values. A process reads the files only once, unless they change.

    Raises:
        SsdgymError: a file is missing, cannot be read or has too many bad lines, or its format is unclear.
    """
    files = tuple((path, file_stamp(path)) for path in config.files())
    known = _load(files, config.format, config.columns, config.events, config.skip_bad)
    if not known.folder.exists():  # the cache has been emptied since the trace was loaded
        _load.cache_clear()
        known = _load(files, config.format, config.columns, config.events, config.skip_bad)
    return known


def file_stamp(path: Path) -> Stamp:
    """Return numbers (device, inode, time, size) that change when a trace file changes."""
    status = path.stat()
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _hash(path: Path, stamp: Stamp) -> str:
    try:
        return file_hash(path)
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None


@lru_cache(maxsize=64)
def _load(
    files: tuple[tuple[Path, Stamp], ...],
    format_name: str,
    columns: str | None,
    events: Events,
    skip_bad: int,
) -> StoredTrace:
    paths, parts = [path for path, _ in files], []
    for path, stamp in files:
        known: TraceFormat
        if columns is not None:
            known = TextFormat(name="columns", text=columns, separator=None)
        else:
            known = format_of(path, format_name)
            known = BLKPARSE[events] if known.name == "blkparse" else known
        parts.append(stored(path, _hash(path, stamp), known, skip_bad))
    trace = parts[0] if len(parts) == 1 else joined(paths, parts)
    understood = trace.understood
    if understood["others"] and format_name == AUTO and columns is None:
        name, doubt = trace.format, understood["doubts"][0]
        raise SsdgymError(
            f"{paths[0]}: fits {name} and {understood['others']} equally well, and as {name}: {doubt}; give "
            f"--set format={name} (in YAML and Python: format) if it is so, or the columns with their own "
            f"units: --columns {understood['columns']!r}."
        )
    for doubt in understood["doubts"]:
        warnings.warn(f"{paths[0]} (read as {trace.format}): {doubt}", stacklevel=2)
    return trace


def joined(paths: Sequence[Path], parts: Sequence[StoredTrace]) -> StoredTrace:
    """Merge the traces of several files of one format into one trace, which is also cached."""
    first = parts[0]
    other = next((number for number, part in enumerate(parts) if part.format != first.format), None)
    if other is not None:
        raise SsdgymError(
            f"{paths[other]}: is read as {parts[other].format} and {paths[0]} as {first.format}; give files "
            "of one format, or name it."
        )

    def write(folder: Path) -> None:
        volumes, bad = VolumeNumbers(paths[0]), BadLines(paths[0], 0)
        for part in parts:
            bad.count += part.skipped_lines
            bad.passed.update(part.understood["passed_over"])
        bad.first_ns = min(part.first_ns for part in parts)
        blocks = merged(paths, parts, volumes)
        write_trace(paths[0], folder, first.format, first.understood["columns"], blocks, bad, volumes)

    # The name of a part's folder is a hash of the content of the file and of all that affects its parsing.
    key = hashlib.sha256(" ".join(part.folder.name for part in parts).encode()).hexdigest()[:32]
    return kept(paths[0], key, write)


def merged(paths: Sequence[Path], parts: Sequence[StoredTrace], volumes: VolumeNumbers) -> Iterator[Records]:
    """Yield the records of several files in order of time.

    A record whose time is earlier than that of the previous record in its file stays after that record.
    Volumes of equal names become one volume.

    Args:
        paths: the files.
        parts: the parsed trace of each file.
        volumes: numbers of the volumes of the merged trace, to which new volumes are added.

    Raises:
        SsdgymError: a file begins more than ten years after another.
    """
    begins = [part.first_ns for part in parts]
    first, last = (begins.index(time) for time in (min(begins), max(begins)))
    if begins[last] - begins[first] > TEN_YEARS_NS:
        raise SsdgymError(
            f"{paths[last]}: begins more than 10 years after {paths[first]}, so their clocks differ; give "
            "each as a trace of its own."
        )
    held = max(1, _HELD // len(parts))
    files = [
        _File(part, volumes.of(part.volumes.names), begin - begins[first], held)
        for part, begin in zip(parts, begins, strict=True)
    ]
    while (records := next_merged(files)) is not None:
        yield records


class _File(Ahead):
    """The records of one of several files to merge, with their arrival times in the merged trace."""

    def __init__(self, part: StoredTrace, numbers: npt.NDArray[np.uint16], later_ns: int, held: int) -> None:
        """Begin at the first record.

        Args:
            part: the parsed file.
            numbers: for each volume of the file its number in the merged trace, shape (volumes,).
            later_ns: time in ns from the first request of all files to the first request of this file.
            held: most records in memory.
        """
        super().__init__()
        self._part, self._numbers, self._later_ns, self._held = part, numbers, later_ns, held
        self._position = 0
        self._latest_ns = -(2**63)

    def read(self) -> tuple[IntArray, Records]:
        records = self._part.records(self._position, self._held)
        if not len(records):
            return records["time_ns"], records
        self._position += len(records)
        records["time_ns"] += self._later_ns
        records["volume"] = self._numbers[records["volume"]]
        arrivals = np.maximum(np.maximum.accumulate(records["time_ns"]), self._latest_ns)
        self._latest_ns = int(arrivals[-1])
        return arrivals, records
