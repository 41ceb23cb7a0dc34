"""The cache of parsed traces on disk: each trace is parsed once; checksums are checked at each opening."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, cache_is_writable, file_hash
from ssdgym.workloads.traces.reading.doubts import Doubts, time_text
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.record import MOST_VOLUMES, NO_RECORDS, RECORD, Records, Volumes, cast
from ssdgym.workloads.traces.registry import FORMATS, TraceFormat

_RECORDS = "records.bin"
_FACTS = "facts.json"


class Understood(TypedDict):
    """How a file was read.

    Attributes:
        columns: columns of a text format with their units, in the language of `--columns`.
        first_request: description of the first request, with its time as in the file.
        passed_over: numbers of ignored lines and of split requests, by kind.
        doubts: sentences about implausible values; see `Doubts`.
        others: other formats that the file fits as well, as a text; empty if there are none.
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
        folder: folder in the cache with the records and the facts about them.
        format: name of the file's format.
        requests: number of records.
        skipped_lines: number of bad lines left out.
        first_ns: time of the first record as in the file, in ns; 0 for a file without times.
        volumes: the volumes to which the field `volume` of the records refers.
        understood: how the file was read.
    """

    folder: Path
    format: str
    requests: int
    skipped_lines: int
    first_ns: int
    volumes: Volumes
    understood: Understood

    def records(self, first: int, count: int) -> Records:
        """See `NumberedRecords`.

        Each call maps only its part of the file, so that little of a long trace is in memory.
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


def stored(path: Path, content_hash: str, trace_format: TraceFormat, skip_bad: int) -> StoredTrace:
    """Return the parsed trace of a file from the cache; if it is missing, parse the file.

    `content_hash` is the SHA-256 of the file; up to `skip_bad` bad lines are left out.
    """

    def write(folder: Path) -> None:
        bad, volumes = BadLines(path, skip_bad), VolumeNumbers(path)
        blocks = trace_format.read(path, bad, volumes)
        write_trace(path, folder, trace_format.name, getattr(trace_format, "text", ""), blocks, bad, volumes)
        if file_hash(path) != content_hash:
            raise SsdgymError(f"{path}: the file changed while it was read; try again.")

    return kept(path, _key(content_hash, trace_format, skip_bad), write)


def kept(path: Path, key: str, write: Callable[[Path], None]) -> StoredTrace:
    """Return the cached trace with a key; if it is missing or damaged, let `write` write it into a folder."""
    folder = cache_folder() / "traces" / key
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
    """Return a folder for the traces of this process, which replaces a cache that cannot be written."""
    return tempfile.TemporaryDirectory(prefix="ssdgym-traces-")


def _key(content_hash: str, trace_format: TraceFormat, skip_bad: int) -> str:
    """Return the key of a parsed trace: a hash of all that it depends on, including the parsing code."""
    import pyarrow as pa

    own = f"{getattr(trace_format, 'text', '')} {getattr(trace_format, 'events', '')}"
    code = f"{trace_format.name} {own} {FORMATS.code_hashes(trace_format.name)} {pa.__version__}"
    digest = hashlib.sha256(f"{content_hash} {skip_bad} {code}".encode())
    package = Path(__file__).parent
    for source in [*sorted(package.glob("**/*.py")), package.parents[1] / "requests.py"]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:32]


def write_trace(
    path: Path,
    folder: Path,
    name: str,
    columns: str,
    blocks: Iterable[Records],
    bad: BadLines,
    numbers: VolumeNumbers,
) -> None:
    """Write the records of a file in the format `name`, and the facts about them, to a folder.

    `columns` is empty for a binary format. `bad` and `numbers` are complete after the last block.
    """
    ends = np.zeros(MOST_VOLUMES, np.int64)
    requests, digest = 0, hashlib.sha256()
    doubts = Doubts(name, "size:sector" in columns)
    with (folder / _RECORDS).open("wb") as file:
        for block in blocks:
            requests += len(block)
            np.maximum.at(ends, block["volume"], block["offset_bytes"] + block["size_bytes"])
            doubts.add(block, numbers.names)
            data = cast(block, RECORD).tobytes()  # `cast` sets padding to 0: equal records, equal bytes
            digest.update(data)
            file.write(data)
    if not requests:
        passed = ", ".join(f"{what}: {count}" for what, count in bad.passed.items())
        said = f" (passed over: {passed})" if passed else ""
        queued = "events Q" in bad.passed
        advice = "set events to queued (--set events=queued)" if queued else "give one with requests"
        raise SsdgymError(f"{path}: the trace has no request that can be played{said}; {advice}.")
    doubted = doubts.sentences(len(numbers.names))  # needed before `others`
    facts = {
        "format": name,
        "requests": requests,
        "skipped_lines": bad.count,
        "first_ns": bad.first_ns or 0,
        "volumes": {"names": numbers.names, "end_bytes": ends[: len(numbers.names)].tolist()},
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
    # The first line is the checksum of the second line.
    (folder / _FACTS).write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}", encoding="utf-8")


def _put_in_place(partial: Path, folder: Path) -> None:
    """Rename `partial` to `folder`; if another process has just made an equal `folder`, keep that one."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    else:
        partial.mkdir()  # the context manager of the caller removes it


def _open(folder: Path) -> StoredTrace | None:
    """Return the trace in a folder; None if a file in the folder is missing or has changed."""
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
