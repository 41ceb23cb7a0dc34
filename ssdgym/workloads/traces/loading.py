"""From the configuration of a trace to its parsed records."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ssdgym.config.recorded import TraceConfig
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.workloads.traces.cache import StoredTrace, stored
from ssdgym.workloads.traces.files import find_trace
from ssdgym.workloads.traces.formats.registry import format_of

Stamp = tuple[int, ...]


def load_trace(config: TraceConfig) -> StoredTrace:
    """Return the parsed trace, from the cache if its content has been parsed before.

    The content is looked at once per process, as long as the file does not change.

    Raises:
        SsdgymError: the file is missing, is of no known format, has too many bad lines or no request.
    """
    path = find_trace(config.path)
    known = _load(path, file_stamp(path), config.format, config.skip_bad)
    if not known.folder.exists():  # somebody has emptied the cache meanwhile
        _load.cache_clear()
        known = _load(path, file_stamp(path), config.format, config.skip_bad)
    return known


def trace_hash(config: TraceConfig) -> str:
    """Return the SHA-256 of the file's content.

    Raises:
        SsdgymError: the file is missing.
    """
    path = find_trace(config.path)
    return _hash(path, file_stamp(path))


def file_stamp(path: Path) -> Stamp:
    """Return what changes when a trace file changes.

    Raises:
        SsdgymError: the file is missing.
    """
    status = find_trace(path).stat()
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _hash(path: Path, stamp: Stamp) -> str:
    try:
        return file_hash(path)
    except OSError as error:
        raise SsdgymError(f"{path}: cannot be read ({error.strerror}); check the file.") from None


@lru_cache(maxsize=64)
def _load(path: Path, stamp: Stamp, format_name: str, skip_bad: int) -> StoredTrace:
    return stored(path, _hash(path, stamp), format_of(path, format_name), skip_bad)
