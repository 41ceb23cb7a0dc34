"""Parsed traces on disk: a memory-mapped array of records, named by content and checked by its hash."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, file_hash
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.records.record import NO_RECORDS, RECORD, Records, Volumes
from ssdgym.workloads.traces.format import TraceFormat
from ssdgym.workloads.traces.parsing.bad_lines import BadLines
from ssdgym.workloads.traces.parsing.volumes import VolumeNumbers
from ssdgym.workloads.traces.registry import format_code_hashes

_RECORDS = "records.bin"
_FACTS = "facts.json"


@dataclass(frozen=True)
class StoredTrace:
    """A parsed trace on disk.

    Attributes:
        folder: the folder of its records.
        format: name of the file's format.
        requests: number of records.
        skipped_lines: bad lines left out.
        volumes: what the field `volume` of the records refers to.
    """

    folder: Path
    format: str
    requests: int
    skipped_lines: int
    volumes: Volumes

    def open(self) -> StoredRecords:
        """Return the records from the first on."""
        return StoredRecords(self)

    def records(self, first: int, count: int) -> Records:
        """Return a copy of records, shape (n,).

        The file is mapped again each time: a process that plays a long trace holds little of it.

        Args:
            first: number of the first one, from 0.
            count: how many, fewer at the end.

        Raises:
            SsdgymError: the cached trace was changed or removed.
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


class StoredRecords:
    """A cursor over a parsed trace; see `ssdgym.workloads.records.record.RecordSource`."""

    def __init__(self, trace: StoredTrace) -> None:
        """Start with the first record of a trace."""
        self.volumes = trace.volumes
        self._trace = trace
        self._position = 0

    def chunk(self) -> Records:
        """See `RecordSource`."""
        records = self._trace.records(self._position, CHUNK)
        self._position += len(records)
        return records


def stored(
    path: Path, content_hash: str, trace_format: TraceFormat, skip_bad: int, cache: Path | None = None
) -> StoredTrace:
    """Return the trace in a file from the cache; parse it into the cache if it is not there.

    Args:
        path: the file.
        content_hash: SHA-256 of its content.
        trace_format: its format.
        skip_bad: bad lines left out before giving up.
        cache: the folder of parsed traces; by default in ssdgym's own.

    Raises:
        SsdgymError: the file cannot be parsed, has no request, or the cache cannot be written.
    """
    key = _key(content_hash, trace_format, skip_bad)
    folder = (cache or cache_folder() / "traces") / key
    if folder.exists():
        known = _open(folder)
        if known is not None:
            return known
        warnings.warn(f"{folder}: the cached trace is damaged; it is made again from {path}", stacklevel=2)
        shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
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


def _key(content_hash: str, trace_format: TraceFormat, skip_bad: int) -> str:
    """Return the name of a parsed trace: a hash of all that it depends on, the parsing code included."""
    import pyarrow as pa

    code = f"{trace_format.name} {format_code_hashes(trace_format.name)} {pa.__version__}"
    digest = hashlib.sha256(f"{content_hash} {skip_bad} {code}".encode())
    package = Path(__file__).parent
    others = [package.parents[1] / "requests.py", package.parent / "records" / "record.py"]
    for source in [*sorted(package.glob("**/*.py")), *others]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:32]


def _parse(path: Path, folder: Path, trace_format: TraceFormat, skip_bad: int) -> None:
    """Write the records of a file and the facts about them to a folder."""
    bad = BadLines(path, skip_bad)
    numbers = VolumeNumbers(path)
    ends = np.zeros(0, np.int64)
    requests, digest = 0, hashlib.sha256()
    with (folder / _RECORDS).open("wb") as file:
        for block in _clean(trace_format.read(path, bad, numbers)):
            requests += len(block)
            ends = _farthest(ends, block, len(numbers.names))
            data = block.tobytes()
            digest.update(data)
            file.write(data)
    if not requests:
        raise SsdgymError(f"{path}: the trace has no request that can be played; give one with requests.")
    facts = {
        "format": trace_format.name,
        "requests": requests,
        "skipped_lines": bad.count,
        "volumes": {"names": numbers.names, "end_bytes": ends.tolist()},
        "sha256": digest.hexdigest(),
    }
    text = json.dumps(facts)
    # The first line vouches for the second.
    (folder / _FACTS).write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}", encoding="utf-8")


def _clean(blocks: Iterator[Records]) -> Iterator[Records]:
    """Yield the blocks with zeros where numpy left padding, so that equal records are equal bytes."""
    for block in blocks:
        clean = np.zeros(len(block), RECORD)
        for field in RECORD.fields or ():
            clean[field] = block[field]
        yield clean


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
        return StoredTrace(folder, facts["format"], facts["requests"], facts["skipped_lines"], volumes)
    except (OSError, ValueError, KeyError, TypeError):
        return None
