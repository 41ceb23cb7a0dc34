"""How fast a trace is parsed, beside Python's csv module on the same file, and how fast it is played."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssdgym.files import file_hash
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.traces.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.loading import StoredTrace, stored
from ssdgym.workloads.traces.record import RECORD, Records, Volumes
from ssdgym.workloads.traces.replay import play, survey
from ssdgym.workloads.traces.writing import writable_format

LINES = 1_000_000
_SPACE_BYTES = 4 << 30
_PAGE_SIZE = 4096


@dataclass(frozen=True)
class TraceFile:
    """A made MSR trace in a folder of its own, which lives as long as this object."""

    folder: tempfile.TemporaryDirectory[str]

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.folder.name) / "trace.csv"


def make_trace(lines: int | None = None, seed: int = 0) -> TraceFile:
    """Write an MSR trace of single pages, half of them written, uniformly over 4 GiB."""
    trace = TraceFile(tempfile.TemporaryDirectory(prefix="ssdgym-bench-"))
    with trace.path.open("wb") as file:
        writable_format("msr").write(file, _blocks(lines or LINES, seed), Volumes(("hm_0",), (_SPACE_BYTES,)))
    return trace


def _blocks(lines: int, seed: int) -> list[Records]:
    rng = np.random.default_rng(seed)
    records = np.zeros(lines, RECORD)
    records["time_ns"] = np.arange(lines) * 1000
    records["offset_bytes"] = rng.integers(0, _SPACE_BYTES // _PAGE_SIZE, lines) * _PAGE_SIZE
    records["size_bytes"] = _PAGE_SIZE
    records["op"] = np.where(rng.random(lines) < 0.5, READ, WRITE)
    return [records]


def parsing(trace: TraceFile) -> Callable[[], int]:
    """Return what parses the file from its first byte to its last, without the cache."""

    def parse() -> int:
        blocks = writable_format("msr").read(trace.path, BadLines(trace.path, 0), VolumeNumbers(trace.path))
        return sum(len(block) for block in blocks)

    return parse


def reading_csv(trace: TraceFile) -> Callable[[], int]:
    """Return what goes over the same file with Python's csv module, and does nothing with the rows."""

    def read() -> int:
        with trace.path.open(newline="") as file:
            return sum(1 for _ in csv.reader(file))

    return read


def playing(trace: TraceFile) -> Callable[[], int]:
    """Return what turns the parsed records into requests on the pages of a device."""
    known: StoredTrace = stored(
        trace.path, file_hash(trace.path), writable_format("msr"), 0, Path(trace.folder.name)
    )
    found = survey(known.open(), _PAGE_SIZE)

    def requests() -> int:
        stream = play(
            known.open(),
            compact=found.compact,
            loops=1,
            logical_pages=found.pages,
            page_size=_PAGE_SIZE,
            report=dict,
        )
        count = 0
        while len(chunk := stream.next(1 << 16)):
            count += len(chunk)
        return count

    return requests
