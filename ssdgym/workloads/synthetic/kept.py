"""Synthetic traces whose records are drawn once and kept, for runs that play them whole several times.

To draw the records of a trace with memory takes about as long as to play them.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from functools import lru_cache

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder
from ssdgym.workloads.chunks import CHUNK
from ssdgym.workloads.records.record import RECORD, Records, RecordSource
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig

#: Traces that are kept at once: those of the few seeds that runs of one experiment take in turn.
_MOST_KEPT = 4
#: What says how records are played, and not which they are.
_NOT_DRAWN = {"transforms", "window", "start", "loops", "addresses"}


class KeptTraceConfig(SyntheticTraceConfig):
    """A synthetic trace whose records are drawn once for each seed in a process, and are the same."""

    def source(self, seed: int) -> KeptRecords:
        """See `SyntheticTraceConfig`."""
        return KeptRecords(_drawn(self.model_dump_json(exclude=_NOT_DRAWN), seed))


def kept(trace: SyntheticTraceConfig) -> KeptTraceConfig:
    """Return the same trace with records that are kept, 24 bytes each, in a temporary file.

    Args:
        trace: which; the file lies in the folder of ssdgym's cache and goes with the process at the latest. A
            process keeps four of them.
    """
    return KeptTraceConfig.model_validate(trace.model_dump())


class _Drawn:
    """Records in a file without a name, which is gone as soon as nobody holds it."""

    def __init__(self, source: RecordSource) -> None:
        self.volumes = source.volumes
        folder = cache_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  it is open as long as this lives
            weakref.finalize(self, self._file.close)
            while len(chunk := source.chunk()):
                self._file.write(chunk.tobytes())
            self._file.flush()
        except OSError as error:
            raise SsdgymError(
                f"{folder}: a synthetic trace cannot be kept there ({error.strerror or error}); free some "
                "space, or name another folder by SSDGYM_CACHE_DIR."
            ) from error

    def __deepcopy__(self, memo: dict[int, object]) -> _Drawn:
        """Return itself; it never changes."""
        return self

    def records(self, first: int, count: int) -> Records:
        """Return records by their number, shape (n,); fewer at the end."""
        found = os.pread(self._file.fileno(), count * RECORD.itemsize, first * RECORD.itemsize)
        return np.frombuffer(bytearray(found), RECORD)


@lru_cache(maxsize=_MOST_KEPT)
def _drawn(text: str, seed: int) -> _Drawn:
    return _Drawn(SyntheticTraceConfig.model_validate_json(text).source(seed))


class KeptRecords:
    """A cursor over records that are kept; see `ssdgym.workloads.records.record.RecordSource`.

    It can be copied, but not pickled: what is kept belongs to its process.
    """

    def __init__(self, drawn: _Drawn) -> None:
        """Start with the first record."""
        self.volumes = drawn.volumes
        self._drawn = drawn
        self._position = 0

    def chunk(self) -> Records:
        """See `RecordSource`."""
        records = self._drawn.records(self._position, CHUNK)
        self._position += len(records)
        return records
