"""Load traces, parsed once and kept in a cache."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from pydantic import AfterValidator, Field, NonNegativeInt, PlainValidator, model_validator
from pydantic_core import PydanticKnownError

from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, cache_is_writable, file_hash
from ssdgym.workloads.registry import workload_kind
from ssdgym.workloads.traces.files import find_trace
from ssdgym.workloads.traces.formats.blkparse import BLKPARSE, Events
from ssdgym.workloads.traces.reading.columns import parse_columns
from ssdgym.workloads.traces.reading.doubts import Doubts
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
        first_request: in words.
        passed_over: lines that are no requests, and what was split, by what they are.
        doubts: why its figures may make no sense.
    """

    columns: str
    first_request: str
    passed_over: dict[str, int]
    doubts: list[str]


@dataclass(frozen=True)
class StoredTrace:
    """A parsed trace on disk.

    Attributes:
        folder: the folder of its records.
        format: name of the file's format.
        requests: number of records.
        skipped_lines: bad lines left out.
        volumes: what the field `volume` of the records refers to.
        understood: what was made of the file.
    """

    folder: Path
    format: str
    requests: int
    skipped_lines: int
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
    key = _key(content_hash, trace_format, skip_bad)
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
            _parse(path, Path(partial), trace_format, skip_bad)
            if file_hash(path) != content_hash:
                raise SsdgymError(f"{path}: the file changed while it was read; try again.")
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


def _parse(path: Path, folder: Path, trace_format: TraceFormat, skip_bad: int) -> None:
    """Write the records of a file and the facts about them to a folder."""
    bad = BadLines(path, skip_bad)
    numbers = VolumeNumbers(path)
    ends = np.zeros(0, np.int64)
    requests, digest = 0, hashlib.sha256()
    columns = getattr(trace_format, "text", "")
    doubts = Doubts(trace_format.name, "size:sector" in columns)
    with (folder / _RECORDS).open("wb") as file:
        for block in trace_format.read(path, bad, numbers):
            requests += len(block)
            ends = _farthest(ends, block, len(numbers.names))
            doubts.add(block, numbers.names)
            data = cast(block, RECORD).tobytes()  # equal records are equal bytes
            digest.update(data)
            file.write(data)
    if not requests:
        raise _without_requests(path, bad)
    facts = {
        "format": trace_format.name,
        "requests": requests,
        "skipped_lines": bad.count,
        "volumes": {"names": numbers.names, "end_bytes": ends.tolist()},
        "sha256": digest.hexdigest(),
        "understood": Understood(
            columns=columns,
            first_request=doubts.first,
            passed_over=dict(bad.passed),
            doubts=doubts.sentences(len(numbers.names)),
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
        counts = facts["requests"], facts["skipped_lines"]
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


@workload_kind
class TraceConfig(PlayedConfig):
    """A recorded trace, replayed in file order."""

    kind: Literal["trace"] = "trace"
    path: Path = Field(
        description="The file, plain or packed (gz, bz2, xz, zst); a relative path is looked for in the"
        " folder that the environment variable SSDGYM_TRACES names, too."
    )
    format: FormatName = Field("auto", description="Format of the file; auto: recognised from its content.")
    columns: ColumnsText | None = Field(
        None,
        description="Columns of a text file of no known format, such as"
        " `time:ms disk offset:B size:B op:1=read`; see the page on traces.",
    )
    events: Events = Field("issued", description="Which events of a blkparse text are requests.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are left out before giving up.")
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
        return str(self.path)

    def source(self, seed: int) -> RecordCursor:
        """See `PlayedConfig`."""
        records = load_trace(self).open()
        records.volumes = replace(records.volumes, overlay=self.volumes == "overlay")
        return records

    def depends_on(self, seed: int) -> tuple[Stamp, int]:
        """See `PlayedConfig`; a trace is the same for every seed."""
        return file_stamp(self.path), 0

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
        path = find_trace(self.path)
        return [_hash(path, file_stamp(path))]

    def code_hashes(self) -> list[str]:
        """See `WorkloadConfig`."""
        return format_code_hashes(load_trace(self).format)


def load_trace(config: TraceConfig) -> StoredTrace:
    """Return the parsed trace, from the cache if its content has been parsed before.

    The content is looked at once per process, as long as the file does not change.
    """
    path = find_trace(config.path)
    stamp = file_stamp(path)
    known = _load(path, stamp, config.format, config.columns, config.events, config.skip_bad)
    if not known.folder.exists():  # the cache has been emptied meanwhile
        _load.cache_clear()
        known = _load(path, stamp, config.format, config.columns, config.events, config.skip_bad)
    return known


def file_stamp(path: Path) -> Stamp:
    """Return what changes when a trace file changes."""
    status = find_trace(path).stat()
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _hash(path: Path, stamp: Stamp) -> str:
    try:
        return file_hash(path)
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None


@lru_cache(maxsize=64)
def _load(
    path: Path, stamp: Stamp, format_name: str, columns: str | None, events: Events, skip_bad: int
) -> StoredTrace:
    known: TraceFormat
    if columns is not None:
        known = TextFormat(name="columns", text=columns, separator=None)
    else:
        known = format_of(path, format_name)
        known = BLKPARSE[events] if known.name == "blkparse" else known
    trace = stored(path, _hash(path, stamp), known, skip_bad)
    for doubt in trace.understood["doubts"]:
        warnings.warn(f"{path} (read as {known.name}): {doubt}", stacklevel=2)
    return trace
