"""Load traces, parsed once and kept in a cache."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, PlainValidator, model_validator
from pydantic_core import PydanticKnownError

from ssdgym.errors import SsdgymError, shown
from ssdgym.files import cache_folder, cache_is_writable, file_hash
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.traces.files import find_traces
from ssdgym.workloads.traces.formats.blkparse import BLKPARSE, Events
from ssdgym.workloads.traces.merging import merged
from ssdgym.workloads.traces.reading.columns import parse_columns
from ssdgym.workloads.traces.reading.doubts import Doubts, time_text
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.record import NO_RECORDS, RECORD, RecordCursor, Records, Volumes, cast
from ssdgym.workloads.traces.recorded import PlayedConfig
from ssdgym.workloads.traces.registry import (
    AUTO,
    TraceFormat,
    format_code_hashes,
    format_names,
    format_of,
)

_RECORDS = "records.bin"
_FACTS = "facts.json"


class Understood(TypedDict):
    """What was made of a file.

    Attributes:
        columns: of a text format, with their units.
        first_request: in words, with its time by the clock of the file.
        passed_over: lines that are no requests, and what was split, by what they are.
        doubts: why its figures may make no sense.
        others: other formats that the file fits as well, if there are any.
    """

    columns: str
    first_request: str
    passed_over: dict[str, int]
    doubts: list[str]
    others: str


@dataclass(frozen=True)
class StoredTrace:
    """A parsed trace on disk.

    Attributes:
        folder: the folder of its records.
        format: name of the file's format.
        requests: number of records.
        skipped_lines: bad lines left out.
        first_ns: time of the first record as the file has it; 0 of a file without a clock.
        volumes: what the field `volume` of the records refers to.
        understood: what was made of the file.
    """

    folder: Path
    format: str
    requests: int
    skipped_lines: int
    first_ns: int
    volumes: Volumes
    understood: Understood

    def open(self) -> RecordCursor:
        """Return the records from the first on."""
        return RecordCursor(self)

    def records(self, first: int, count: int) -> Records:
        """Return a copy of records, shape (n,).

        The file is mapped again each time: a process that plays a long trace holds little of it.
        """
        count = min(count, self.requests - first)
        if count <= 0:
            return NO_RECORDS
        try:
            mapped = np.memmap(self.folder / _RECORDS, RECORD, "r", first * RECORD.itemsize, (count,))
        except (OSError, ValueError) as error:
            raise SsdgymError(
                f"{self.folder}: the cached trace was changed or removed while it was played; start again."
            ) from error
        return np.array(mapped)


def stored(
    path: Path, content_hash: str, trace_format: TraceFormat, skip_bad: int, root: Path | None = None
) -> StoredTrace:
    """Return the trace in a file from the cache; parse it into the cache if it is not there."""

    def write(folder: Path) -> None:
        bad, volumes = BadLines(path, skip_bad), VolumeNumbers(path)
        blocks = trace_format.read(path, bad, volumes)
        _write(path, folder, trace_format.name, getattr(trace_format, "text", ""), blocks, bad, volumes)
        if file_hash(path) != content_hash:
            raise SsdgymError(f"{path}: the file changed while it was read; try again.")

    return _kept(path, _key(content_hash, trace_format, skip_bad), write, root)


def _joined(paths: Sequence[Path], parts: Sequence[StoredTrace]) -> StoredTrace:
    """Return the traces in several files as one, which is kept in the cache, too."""
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
        _write(paths[0], folder, first.format, first.understood["columns"], blocks, bad, volumes)

    # The name of a part depends on all that it is read by.
    key = hashlib.sha256(" ".join(part.folder.name for part in parts).encode()).hexdigest()[:32]
    return _kept(paths[0], key, write)


def _kept(path: Path, key: str, write: Callable[[Path], None], root: Path | None = None) -> StoredTrace:
    """Return what the cache has under a key; without it, what is written to a folder for it."""
    folder = (root or cache_folder() / "traces") / key
    if folder.exists():
        known = _open(folder)
        if known is not None:
            return known
        warnings.warn(f"{folder}: the cached trace is damaged; it is made again from {path}", stacklevel=2)
        shutil.rmtree(folder, ignore_errors=True)
    if not cache_is_writable(folder.parent):
        folder = Path(_temporary_folder().name) / key
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as partial:
            write(Path(partial))
            _put_in_place(Path(partial), folder)
    except OSError as error:
        raise SsdgymError(
            f"{folder.parent}: the parsed trace cannot be kept there ({error.strerror or error}); free some "
            "space, or name another folder by SSDGYM_CACHE_DIR."
        ) from error
    trace = _open(folder)
    if trace is None:
        raise SsdgymError(f"{folder}: what was just written there reads back differently; check the disk.")
    return trace


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory:
    """Return the folder of the traces of this process, where the cache cannot be written."""
    return tempfile.TemporaryDirectory(prefix="ssdgym-traces-")


def _key(content_hash: str, trace_format: TraceFormat, skip_bad: int) -> str:
    """Return the name of a parsed trace: a hash of all that it depends on, the parsing code included."""
    import pyarrow as pa

    own = f"{getattr(trace_format, 'text', '')} {getattr(trace_format, 'events', '')}"
    code = f"{trace_format.name} {own} {format_code_hashes(trace_format.name)} {pa.__version__}"
    digest = hashlib.sha256(f"{content_hash} {skip_bad} {code}".encode())
    package = Path(__file__).parent
    for source in [*sorted(package.glob("**/*.py")), package.parents[1] / "requests.py"]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:32]


def _write(
    path: Path,
    folder: Path,
    name: str,
    columns: str,
    blocks: Iterable[Records],
    bad: BadLines,
    numbers: VolumeNumbers,
) -> None:
    """Write records of the format `name`, and the facts about them, to a folder."""
    ends = np.zeros(0, np.int64)
    requests, digest = 0, hashlib.sha256()
    doubts = Doubts(name, "size:sector" in columns)
    with (folder / _RECORDS).open("wb") as file:
        for block in blocks:
            requests += len(block)
            ends = _farthest(ends, block, len(numbers.names))
            doubts.add(block, numbers.names)
            data = cast(block, RECORD).tobytes()  # equal records are equal bytes
            digest.update(data)
            file.write(data)
    if not requests:
        raise _without_requests(path, bad)
    doubted = doubts.sentences(len(numbers.names))
    facts = {
        "format": name,
        "requests": requests,
        "skipped_lines": bad.count,
        "first_ns": bad.first_ns or 0,
        "volumes": {"names": numbers.names, "end_bytes": ends.tolist()},
        "sha256": digest.hexdigest(),
        "understood": Understood(
            columns=columns,
            first_request=f"{doubts.first}, {time_text(bad.first_ns or 0)}",
            passed_over=dict(bad.passed),
            doubts=doubted,
            others=doubts.others,
        ),
    }
    text = json.dumps(facts)
    # The first line vouches for the second.
    (folder / _FACTS).write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}", encoding="utf-8")


def _without_requests(path: Path, bad: BadLines) -> SsdgymError:
    passed = ", ".join(f"{what}: {count}" for what, count in bad.passed.items())
    said = f" (passed over: {passed})" if passed else ""
    queued = "events Q" in bad.passed
    advice = "set events to queued (--events queued)" if queued else "give one with requests"
    return SsdgymError(f"{path}: the trace has no request that can be played{said}; {advice}.")


def _farthest(ends: Any, block: Records, volumes: int) -> Any:
    farthest = np.zeros(volumes, np.int64)
    farthest[: len(ends)] = ends
    np.maximum.at(farthest, block["volume"], block["offset_bytes"] + block["size_bytes"])
    return farthest


def _put_in_place(partial: Path, folder: Path) -> None:
    """Rename the folder; where another process was faster, its equal one stays."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    else:
        partial.mkdir()  # the context that owns the folder removes it


def _open(folder: Path) -> StoredTrace | None:
    """Return the trace in a folder, or None if anything about it differs from what was written."""
    try:
        checksum, _, text = (folder / _FACTS).read_text(encoding="utf-8").partition("\n")
        if hashlib.sha256(text.encode()).hexdigest() != checksum:
            return None
        facts = json.loads(text)
        if file_hash(folder / _RECORDS) != facts["sha256"]:
            return None
        volumes = Volumes(tuple(facts["volumes"]["names"]), tuple(facts["volumes"]["end_bytes"]))
        counts = facts["requests"], facts["skipped_lines"], facts["first_ns"]
        return StoredTrace(folder, facts["format"], *counts, volumes, facts["understood"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


Stamp = tuple[int, ...]
#: How the volumes of a trace lie in one address space.
VolumeLayout = Literal["end_to_end", "overlay"]


def _known_format(name: Any) -> Any:
    """Refuse what is no name of a format, as pydantic refuses what is none of some literals."""
    names = format_names()
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
    """Refuse what is no path in one sentence instead of one for each way to write it."""
    paths = value if isinstance(value, list | tuple) else [value]
    if paths and all(isinstance(path, str | Path) for path in paths):
        return value
    raise ValueError(f"must be a file, a folder or a list of files, not {shown(value)}")


@workload_kind
class TraceConfig(PlayedConfig):
    """A recorded trace, replayed in file order."""

    kind: Literal["trace"] = "trace"
    path: Annotated[Path | tuple[Path, ...], BeforeValidator(_is_path)] = Field(
        description="The file, plain or packed (gz, bz2, xz, zst); a relative path is looked for in the"
        " folder that the environment variable SSDGYM_TRACES names, too. Several files, or those in a folder,"
        " are one trace in order of time; volumes of the same name are the same volume."
    )
    format: FormatName = Field("auto", description="Format of the file; auto: recognised from its content.")
    columns: ColumnsText | None = Field(
        None,
        description="Columns of a text file of no known format, such as"
        " `time:ms disk offset:B size:B op:1=read`; see the page on traces.",
    )
    events: Events = Field("issued", description="Which events of a blkparse text are requests.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines of a file that are left out before giving up.")
    # SSDsim reads the column of the device and does not use it.
    volumes: VolumeLayout = Field(
        "end_to_end",
        description="end_to_end: volumes are address spaces of their own, one after the other; overlay: equal"
        " addresses of different volumes are the same place, as in SSDsim.",
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
        """Return the paths of the files.

        Raises:
            SsdgymError: there is no such file, or none in a folder.
        """
        paths = [self.path] if isinstance(self.path, Path) else self.path
        return [file for path in paths for file in find_traces(path)]

    def source(self, seed: int) -> RecordCursor:
        """See `PlayedConfig`."""
        records = load_trace(self).open()
        overlay = self.volumes == "overlay"
        records.volumes = replace(records.volumes, overlay=overlay, trace=self.label)
        return records

    def depends_on(self, seed: int) -> tuple[Stamp, int]:
        """See `PlayedConfig`; a trace is the same for every seed."""
        return tuple(value for path in self.files() for value in file_stamp(path)), 0

    def origin(self) -> dict[str, Any]:
        """See `PlayedConfig`."""
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
        return format_code_hashes(load_trace(self).format)


def load_trace(config: TraceConfig) -> StoredTrace:
    """Return the parsed trace, from the cache if its content has been parsed before.

    The content is looked at once per process, as long as the file does not change.
    """
    files = tuple((path, file_stamp(path)) for path in config.files())
    known = _load(files, config.format, config.columns, config.events, config.skip_bad)
    if not known.folder.exists():  # the cache has been emptied meanwhile
        _load.cache_clear()
        known = _load(files, config.format, config.columns, config.events, config.skip_bad)
    return known


def file_stamp(path: Path) -> Stamp:
    """Return what changes when a trace file changes."""
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
    trace = parts[0] if len(parts) == 1 else _joined(paths, parts)
    understood = trace.understood
    if understood["others"] and format_name == AUTO and columns is None:
        name, doubt = trace.format, understood["doubts"][0]
        raise SsdgymError(
            f"{paths[0]}: fits {name} and {understood['others']} equally well, and as {name}: {doubt}; give "
            f"--format {name} (in YAML and Python: format) if it is so, or the columns with their own units: "
            f"--columns {understood['columns']!r}."
        )
    for doubt in understood["doubts"]:
        warnings.warn(f"{paths[0]} (read as {trace.format}): {doubt}", stacklevel=2)
    return trace
