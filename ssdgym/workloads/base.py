"""Base of workload configurations, and the streams of requests that they open.

A *source* makes requests in chunks; a `RequestStream` returns them in portions of any size. Some workloads
repeat: each repetition is a *lap*.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from ssdgym.config.loading import NOTES, BasedConfig, Config
from ssdgym.requests import REQUEST, Requests
from ssdgym.types import IntArray

Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
#: The upper limit keeps sums and products of weights finite.
Weight = Annotated[float, Field(gt=0, le=1e100)]

#: Start of a trace whose configuration sets none: its first request, or a request drawn by the seed.
StartAt = Literal["first", "random"]

#: Number that makes the draws of workloads independent of other uses of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class WorkloadConfig(Config):
    """Base of all workloads: the requests of a host, and when they arrive.

    Attributes:
        kind: name of the kind of workload, which selects the model of a configuration.
    """

    kind: str

    @property
    @abstractmethod
    def is_endless(self) -> bool:
        """Whether the workload never ends."""

    @property
    def has_pace(self) -> bool:
        """Whether arrival times differ; otherwise all requests arrive at time 0."""
        return True

    @abstractmethod
    def writes_nothing(self) -> bool:
        """Return whether the workload writes no page; an episode, which counts written pages, would not end.

        Raises:
            SsdgymError: a trace cannot be read.
        """

    def assumptions(self) -> tuple[str, ...]:
        """Return the names of the fields with assumed values, sorted; results of experiments list them."""
        return tuple(sorted({name for part in self.parts() for name in part.assumptions()}))

    def parts(self) -> tuple[WorkloadConfig, ...]:
        """Return the workloads of which this workload consists; none for most kinds."""
        return ()

    def with_start(self, start: StartAt) -> Self:
        """Return the workload with `start` set for each of its traces whose configuration sets no start.

        Args:
            start: `first`, or `random` so that each seed draws another first request.
        """
        return self

    def trace_hashes(self) -> list[str]:
        """Return the SHA-256 of every trace file in the workload.

        Raises:
            SsdgymError: a file is missing.
        """
        return [digest for part in self.parts() for digest in part.trace_hashes()]

    def code_hashes(self) -> list[str]:
        """Return hashes of users' source files that determine the requests, except the file of this class."""
        return []

    @abstractmethod
    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """Start the workload from its first request; see `ssdgym.workloads.stream.open_workload`.

        Args:
            logical_pages: number of logical pages of the device.
            page_size: bytes per page.
            seed: seed of the requests, at least 0.

        Raises:
            SsdgymError: the workload does not fit the device, or its trace cannot be read.
        """


ConfigT = TypeVar("ConfigT", bound=WorkloadConfig)


class WorkloadKey(Generic[ConfigT]):
    """A key of caches; keys are equal if their workloads have the same class and fields, except `but`."""

    def __init__(self, workload: ConfigT, but: Collection[str] = ()) -> None:
        self.workload = workload
        self._fields = type(workload), workload.model_dump_json(exclude=set(but))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkloadKey) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)


def seeds_of(seed: int) -> np.random.SeedSequence:
    """Return the seed sequence of a workload, from which its random generators are spawned."""
    return np.random.SeedSequence([seed, _WORKLOAD_STREAM])


def drawn_start(requests: int, seed: int) -> int:
    """Draw the number, below `requests`, of the request at which a trace with a random start begins."""
    return int(np.random.default_rng(seeds_of(seed)).integers(requests))


# Sources keep all their state in attributes that can be pickled, so a stream can be copied at any point; the
# copy then returns the same requests as the original.

#: Requests of a chunk: enough to hide numpy's cost per call, few enough for a fast first request.
CHUNK = 4096

NO_REQUESTS: Requests = np.zeros(0, REQUEST)
NO_REQUESTS.flags.writeable = False


class Source(Protocol):
    """Makes the requests of a workload in chunks, whose sizes the source chooses."""

    def chunk(self) -> Requests:
        """Return the next requests, shape (n,); after the last one, always an empty array."""


class RequestStream:
    """The requests of a source, in portions of any size."""

    def __init__(self, source: Source, report: Callable[[], dict[str, int]]) -> None:
        # A function that can be pickled; it is called only on demand, because it may be slow.
        self._make_report = report
        self._source = source
        self._chunk = NO_REQUESTS
        self._taken = 0

    @property
    def report(self) -> dict[str, int]:
        """Facts about the workload as a whole; computing them may read a whole trace.

        Generators have `footprint_pages` (pages that they can access), arrays `requests`, functions nothing.
        Traces and synthetic traces have `requests`, `trace_pages` (different pages that they touch),
        `footprint_pages` (different pages of the device that they touch), `out_of_order` (requests earlier
        than a previous request), `trims_below_a_page` (trims that cover no whole page and are left out),
        `written_pages` (page writes) and `rewritten_pages` (page writes to pages written before); traces also
        have `skipped_lines`. Kind `tenants` has the number of `tenants`, and the sums of the facts of all
        tenants except `requests` and `trace_pages`.
        """
        return self._make_report()

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests, dtype REQUEST, shape (n,); at the end 0 requests."""
        if max_requests < 1:
            raise ValueError(f"max_requests must be at least 1, not {max_requests}")
        if self._taken == len(self._chunk):
            self._chunk, self._taken = self._source.chunk(), 0
        portion = self._chunk[self._taken : self._taken + max_requests]
        self._taken += len(portion)
        return portion

    def take(self, requests: int) -> Requests:
        """Return the next `requests` requests, shape (n,); fewer if the workload ends before."""
        portions = []
        while requests > 0 and len(portion := self.next(requests)):
            portions.append(portion)
            requests -= len(portion)
        return np.concatenate(portions) if portions else NO_REQUESTS


#: Largest arrival time; later times are reduced to it. No simulation reaches this time.
_LATEST_NS = 2**62


class Lap(Protocol):
    """One repetition of a workload; arrival times count from the first request of the lap."""

    @property
    def requests(self) -> int:
        """Number of requests returned so far."""

    @property
    def last_ns(self) -> int:
        """Arrival time in ns of the last request returned so far."""

    def chunk(self) -> Requests:
        """Return a new array of the next requests, shape (n,); it is empty at the end."""


#: A picklable function that begins lap n, from 0, and returns it; lap 0 may start at a later request.
Laps = Callable[[int], Lap]


class Loops:
    """A source that repeats a workload in `loops` laps, or without end if `loops` is `None`.

    The time between the last request of a lap and the first request of the next lap is the mean time between
    the arrivals of the earlier lap.
    """

    def __init__(self, laps: Laps, loops: int | None) -> None:
        self._laps = laps
        self._loops = loops
        self._number = 0
        self._now = laps(0)
        self._start_ns = 0

    def __deepcopy__(self, memo: dict[int, object]) -> Loops:
        """Copy the current lap; share the function `laps`, whose tables may be large."""
        twin = copy.copy(self)
        twin._now = copy.deepcopy(self._now, memo)
        return twin

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.base.Source`."""
        while self._number != self._loops:
            requests = self._now.chunk()
            if len(requests):
                requests["arrival_ns"] = np.minimum(requests["arrival_ns"] + self._start_ns, _LATEST_NS)
                return requests
            self._start_again()
        return NO_REQUESTS

    def _start_again(self) -> None:
        length_ns, played = self._now.last_ns, self._now.requests
        self._start_ns = min(self._start_ns + length_ns + length_ns // max(played - 1, 1), _LATEST_NS)
        self._number += 1
        # If a lap from the first request on is empty, all later laps are empty, too.
        if not played and self._number > 1:
            self._loops = self._number
        self._now = self._laps(self._number)


class Ahead(ABC):
    """A stream of rows (requests or records) in order of time; it reads ahead, so that streams can merge."""

    def __init__(self) -> None:
        self._times: IntArray = np.zeros(0, np.int64)
        self._rows = NO_REQUESTS

    @abstractmethod
    def read(self) -> tuple[IntArray, npt.NDArray[np.void]]:
        """Return the times in ns of the next rows, which never decrease, and the rows; at the end 0 rows."""

    def known_until(self) -> int | None:
        """Return the time of the last row that has been read, reading if necessary; None at the end."""
        if not len(self._times):
            self._times, self._rows = self.read()
        return int(self._times[-1]) if len(self._times) else None

    def take(self, until: int, *, inclusive: bool) -> tuple[IntArray, npt.NDArray[np.void]]:
        """Remove the rows before `until` (if `inclusive`, also those at it); return their times and rows."""
        count = int(np.searchsorted(self._times, until, "right" if inclusive else "left"))
        taken = self._times[:count], self._rows[:count]
        self._times, self._rows = self._times[count:], self._rows[count:]
        return taken


def next_merged(streams: Sequence[Ahead]) -> npt.NDArray[np.void] | None:
    """Merge streams: return the next rows of all in order of time, shape (n,), n > 0; None at the end.

    Rows with equal times are in the order of the streams.
    """
    live = [(stream, until) for stream in streams if (until := stream.known_until()) is not None]
    if not live:
        return None
    until, slowest = min((until, number) for number, (_, until) in enumerate(live))
    # The slowest stream may have unread rows at time `until`, so streams after it keep their rows at `until`.
    taken = (stream.take(until, inclusive=number <= slowest) for number, (stream, _) in enumerate(live))
    times, rows = zip(*taken, strict=True)
    return np.concatenate(rows)[np.argsort(np.concatenate(times), kind="stable")]


class NotedConfig(WorkloadConfig, BasedConfig):
    """Base of workloads with notes on fields: where a value is published, or why it is assumed."""

    folder: ClassVar[str] = "workloads"
    by_field: ClassVar[tuple[str, ...]] = NOTES

    sources: dict[str, str] = Field(
        default_factory=dict, description="Sources of published values, by name of the field."
    )
    assumed: dict[str, str] = Field(
        default_factory=dict, description="Reasons for values that no source gives, by name of the field."
    )

    def assumptions(self) -> tuple[str, ...]:
        """See `WorkloadConfig`."""
        return tuple(sorted(self.assumed))

    @classmethod
    def noted_names(cls) -> list[str]:
        """Return the names of the fields that may have notes."""
        return [name for name in cls.model_fields if name not in ("kind", *NOTES)]

    @model_validator(mode="after")
    def _notes_are_on_values(self) -> NotedConfig:
        names = self.noted_names()
        for notes in NOTES:
            unknown = sorted(set(getattr(self, notes)) - set(names))
            if unknown:
                raise ValueError(
                    f"has a note in {notes} on {unknown[0]}, which is none of {', '.join(names)}"
                )
        twice = sorted(self.sources.keys() & self.assumed.keys())
        if twice:
            raise ValueError(f"names {twice[0]} in both sources and assumed; a value is one or the other")
        return self
