"""Draw the requests of a workload once, and keep them in a temporary file for all runs with equal requests.

Drawing requests takes about as long as simulating them, and the runs of all policies have the same requests.
"""

from __future__ import annotations

import copy
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import SerializeAsAny

from ssdgym.errors import SsdgymError
from ssdgym.files import cache_folder, cache_is_writable
from ssdgym.requests import FLUSH, READ, REQUEST, Requests
from ssdgym.workloads.base import NO_REQUESTS, RequestStream, WorkloadConfig, WorkloadKey
from ssdgym.workloads.python import PythonWorkload
from ssdgym.workloads.stream import open_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.traces.distributions import expanded
from ssdgym.workloads.traces.record import RECORD, RecordCursor, Records, RecordSource
from ssdgym.workloads.traces.recorded import PlayedConfig

#: Most workloads, and most synthetic traces, that are kept; two suffice if runs are sorted by workload.
_MOST_KEPT = 2
#: Most requests of a workload that are kept (384 MiB); each run draws later requests anew.
_MOST_REQUESTS = 1 << 24
_CHUNK = 1 << 15
#: Fields of a trace that determine how its records are replayed; they do not change the records.
_NOT_DRAWN = {"transforms", "window", "start", "loops", "addresses"}


def kept(workload: WorkloadConfig) -> WorkloadConfig:
    """Return a workload with the same requests, which a process draws once per seed and size of the device.

    The requests are in temporary files in the cache folder, which disappear when the process ends. Traces
    from files and workloads in Python are returned as they are.
    """
    if not _is_drawn(workload):
        return workload
    if isinstance(workload, SyntheticTraceConfig):
        workload = _KeptTraceConfig.model_validate(workload.model_dump())
    return _KeptWorkload(kind=workload.kind, of=workload)


def _is_drawn(workload: WorkloadConfig) -> bool:
    """Return whether the requests depend only on the workload's fields and a seed."""
    if isinstance(workload, PythonWorkload) or (isinstance(workload, PlayedConfig) and not workload.is_drawn):
        return False
    return all(map(_is_drawn, workload.parts()))


def pages_read_first(
    workload: WorkloadConfig, logical_pages: int, page_size: int, seed: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the logical pages that are read before they are written or trimmed, in the order of these reads.

    The arguments are those of `open_workload`. The workload must have an end.
    """
    if not isinstance(workload, _KeptWorkload):
        stream = open_workload(workload, logical_pages=logical_pages, page_size=page_size, seed=seed)
        yield from _read_first(stream, logical_pages)
        return
    drawn, position = _kept_reads(WorkloadKey(workload), logical_pages, page_size, seed), 0
    while len(pages := drawn.part(position, _CHUNK)):
        position += len(pages)
        yield pages


def _read_first(stream: RequestStream, logical_pages: int) -> Iterator[npt.NDArray[np.int64]]:
    is_new = np.ones(logical_pages, bool)
    while len(requests := stream.next(_CHUNK)):
        requests = requests[requests["op"] != FLUSH]
        for pages, position in expanded(requests["lpn"], requests["pages"]):
            fresh = np.flatnonzero(is_new[pages])
            touched, first = np.unique(pages[fresh], return_index=True)
            is_new[touched] = False
            first = np.sort(fresh[first])
            first = first[requests["op"][position[first]] == READ]
            if len(first):
                yield pages[first]


class _KeptTraceConfig(SyntheticTraceConfig):
    """A synthetic trace whose records are kept; the records are the same for devices of all sizes."""

    def source(self, seed: int) -> RecordCursor:
        return RecordCursor(_kept_records(WorkloadKey(self, _NOT_DRAWN), seed))


class _KeptWorkload(WorkloadConfig):
    """A workload whose requests are kept.

    Attributes:
        kind: kind of the original workload.
        of: the original workload.
    """

    of: SerializeAsAny[WorkloadConfig]

    @property
    def is_endless(self) -> bool:
        return self.of.is_endless

    @property
    def has_pace(self) -> bool:
        return self.of.has_pace

    def writes_nothing(self) -> bool:
        return self.of.writes_nothing()

    def parts(self) -> tuple[WorkloadConfig, ...]:
        return (self.of,)

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        drawn = _kept_requests(WorkloadKey(self.of), logical_pages, page_size, seed)
        return RequestStream(_Reader(drawn), lambda: drawn.stream.report)


@lru_cache(maxsize=_MOST_KEPT)
def _kept_requests(
    key: WorkloadKey[WorkloadConfig], logical_pages: int, page_size: int, seed: int
) -> _KeptRequests:
    return _KeptRequests(key.workload.open(logical_pages, page_size, seed))


@lru_cache(maxsize=_MOST_KEPT)
def _kept_reads(key: WorkloadKey[WorkloadConfig], logical_pages: int, page_size: int, seed: int) -> _Kept:
    pages = _read_first(key.workload.open(logical_pages, page_size, seed), logical_pages)
    return _Kept(np.dtype(np.int64), lambda: next(pages, np.zeros(0, np.int64)))


@lru_cache(maxsize=_MOST_KEPT)
def _kept_records(key: WorkloadKey[_KeptTraceConfig], seed: int) -> _KeptRecords:
    return _KeptRecords(SyntheticTraceConfig.source(key.workload, seed))


class _Kept:
    """An array in a temporary file; elements are drawn when they are first read.

    A deep copy is the object itself, because elements never change. The object cannot be pickled.
    """

    def __init__(self, dtype: np.dtype[Any], draw: Callable[[], npt.NDArray[Any]]) -> None:
        self._dtype = dtype
        self._draw = draw
        self._length = 0
        self._folder = cache_folder()
        if not cache_is_writable(self._folder):
            self._folder = Path(tempfile.gettempdir())
        with self._room():
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  open as long as this lives
            weakref.finalize(self, self._file.close)

    def __deepcopy__(self, memo: dict[int, object]) -> _Kept:
        return self

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SsdgymError(
                f"{self._folder}: requests cannot be kept there ({error.strerror or error}); free space, "
                "or name another folder by SSDGYM_CACHE_DIR."
            ) from error

    def part(self, first: int, count: int) -> npt.NDArray[Any]:
        """Return a copy of the elements `first` to `first + count - 1`, shape (n,); fewer at the end."""
        while self._length < first + count and len(chunk := self._draw()):
            with self._room():
                self._file.write(chunk.tobytes())
                self._file.flush()
            self._length += len(chunk)
        size = self._dtype.itemsize
        return np.frombuffer(
            bytearray(os.pread(self._file.fileno(), count * size, first * size)), self._dtype
        )


class _KeptRecords(_Kept):
    """The kept records of a synthetic trace; see `NumberedRecords`."""

    def __init__(self, source: RecordSource) -> None:
        super().__init__(RECORD, source.chunk)
        self.volumes = source.volumes

    def records(self, first: int, count: int) -> Records:
        return self.part(first, count)


class _KeptRequests(_Kept):
    """The kept requests: the first `_MOST_REQUESTS` of a stream.

    Attributes:
        stream: the stream, just after the last request that was drawn.
    """

    def __init__(self, stream: RequestStream) -> None:
        super().__init__(REQUEST, self._next)
        self.stream = stream

    def _next(self) -> Requests:
        return self.stream.next(_CHUNK) if self._length < _MOST_REQUESTS else NO_REQUESTS


class _Reader:
    """A source of the kept requests, and then of later requests, which a copy of the stream draws."""

    def __init__(self, kept: _KeptRequests) -> None:
        self._kept = kept
        self._position = 0
        self._rest: RequestStream | None = None

    def chunk(self) -> Requests:
        if self._rest is None:
            requests = self._kept.part(self._position, _CHUNK)
            self._position += len(requests)
            if len(requests):
                return requests
            self._rest = copy.deepcopy(self._kept.stream)
        return self._rest.next(_CHUNK)
