"""Model of a trace, and its parsed records."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PlainValidator
from pydantic_core import PydanticKnownError

from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.workloads.kinds import workload_kind
from ssdgym.workloads.records.played import PlayedConfig
from ssdgym.workloads.traces.cache import StoredRecords, StoredTrace, stored
from ssdgym.workloads.traces.files import find_trace
from ssdgym.workloads.traces.registry import format_code_hashes, format_names, format_of

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


@workload_kind
class TraceConfig(PlayedConfig):
    """A recorded trace, replayed in file order."""

    kind: Literal["trace"] = "trace"
    path: Path = Field(
        description="The file, plain or packed (gz, bz2, xz, zst); a relative path is looked for in the"
        " folder that the environment variable SSDGYM_TRACES names, too."
    )
    format: FormatName = Field("auto", description="Format of the file; auto: recognised from its content.")
    skip_bad: NonNegativeInt = Field(0, description="Bad lines that are left out before giving up.")
    # SSDsim reads the column of the device and does not use it.
    volumes: VolumeLayout = Field(
        "end_to_end",
        description="end_to_end: volumes are address spaces of their own, one after the other; overlay: equal"
        " addresses of different volumes are the same place, as in SSDsim.",
    )

    @property
    def label(self) -> str:
        """See `PlayedConfig`."""
        return str(self.path)

    def source(self, seed: int) -> StoredRecords:
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
        return {"format": trace.format, "skipped_lines": trace.skipped_lines}

    def report(self, logical_pages: int, page_size: int, seed: int) -> dict[str, int]:
        """See `PlayedConfig`."""
        report = super().report(logical_pages, page_size, seed)
        return {**report, "skipped_lines": load_trace(self).skipped_lines}

    def trace_hashes(self) -> list[str]:
        """See `WorkloadConfig`."""
        return [trace_hash(self)]

    def code_hashes(self) -> list[str]:
        """See `WorkloadConfig`."""
        return format_code_hashes(load_trace(self).format)


def load_trace(config: TraceConfig) -> StoredTrace:
    """Return the parsed trace, from the cache if its content has been parsed before.

    The content is looked at once per process, as long as the file does not change.

    Raises:
        SsdgymError: the file is missing, is of no known format, has too many bad lines or no request.
    """
    path = find_trace(config.path)
    known = _load(path, file_stamp(path), config.format, config.skip_bad)
    if not known.folder.exists():  # the cache has been emptied meanwhile
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
