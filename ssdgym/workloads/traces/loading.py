"""Load a whole trace, once per process and file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ssdgym.config.workload import TraceConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.files import find_trace
from ssdgym.workloads.traces.records import BadLines, Records
from ssdgym.workloads.traces.registry import reader_for


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace in memory; equal to itself only, so that it can be the key of a cache.

    Attributes:
        path: the file.
        format: name of its format.
        records: dtype RECORD, shape (requests,), in file order and read-only; ``time_ns`` never falls.
        skipped_lines: bad lines left out.
        out_of_order: requests recorded with an earlier time than one before them; they take its time.
    """

    path: Path
    format: str
    records: Records
    skipped_lines: int
    out_of_order: int


def load_trace(config: TraceConfig) -> Trace:
    """Return the trace of a configuration, from memory if the file has not changed since.

    Raises:
        SsdgymError: the file is missing, is of no known format, has too many bad lines or no request.
    """
    path = find_trace(config.path)
    status = path.stat()
    stamp = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    return _load(path, stamp, config.format, config.head, config.skip_bad)


@lru_cache(maxsize=4)
def _load(path: Path, stamp: tuple[int, ...], format_name: str, head: int | None, skip_bad: int) -> Trace:
    reader = reader_for(path, format_name)
    bad = BadLines(path, skip_bad)
    batches = list(reader.read(path, bad, head))
    if not batches:
        raise SsdgymError(f"{path}: the trace has no request that can be played; give one with requests.")
    records = np.concatenate(batches)
    latest = np.maximum.accumulate(np.maximum(records["time_ns"], 0))
    out_of_order = int(np.count_nonzero(records["time_ns"] < latest))
    records["time_ns"] = latest
    records.flags.writeable = False
    return Trace(path, reader.name, records, bad.count, out_of_order)
