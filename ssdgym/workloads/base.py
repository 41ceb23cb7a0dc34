"""Requests in order, and what every workload's configuration has."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, Protocol, Self

import numpy as np
from pydantic import Field, model_validator

from ssdgym.config.loading import NOTES, BasedConfig, Config
from ssdgym.requests import REQUEST, Requests

Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
#: So bounded that no sum or product of them leaves its range.
Weight = Annotated[float, Field(gt=0, le=1e100)]

#: Where a recorded sequence of requests begins, if its configuration leaves it open.
StartAt = Literal["first", "random"]

#: Keeps the draws of workloads apart from the other users of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class WorkloadConfig(Config):
    """Base of all workloads: the requests of a host, and when they arrive.

    Attributes:
        kind: name of the model; a mapping with this `kind` is read as this model.
    """

    kind: str

    @property
    @abstractmethod
    def is_endless(self) -> bool:
        """Whether the workload goes on for ever."""

    @property
    def has_pace(self) -> bool:
        """Whether its requests arrive over time, and not all at once."""
        return True

    @abstractmethod
    def writes_nothing(self) -> bool:
        """Return whether no page is written at all, so that no number of host pages is ever reached.

        Raises:
            SsdgymError: a trace cannot be read.
        """

    def assumptions(self) -> tuple[str, ...]:
        """Return the names of assumed fields, sorted; results list them."""
        return tuple(sorted({name for part in self.parts() for name in part.assumptions()}))

    def parts(self) -> tuple[WorkloadConfig, ...]:
        """Return the workloads that this one is made of."""
        return ()

    def with_start(self, start: StartAt) -> Self:
        """Set the start of every trace in the workload that leaves it open.

        Args:
            start: `first` where the order of the whole matters, `random` where seeds should differ.
        """
        return self

    def trace_hashes(self) -> list[str]:
        """Return the SHA-256 of every trace file that the workload plays.

        Raises:
            SsdgymError: one is missing.
        """
        return [digest for part in self.parts() for digest in part.trace_hashes()]

    def code_hashes(self) -> list[str]:
        """Return a hash of each source outside of ssdgym that the requests depend on, beside its model's."""
        return []

    @abstractmethod
    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """Start the workload from its first request; see `ssdgym.workloads.stream.open_workload`.

        Args:
            logical_pages: size of the logical space.
            page_size: bytes per page.
            seed: not negative.

        Raises:
            SsdgymError: the workload does not fit the device, or its trace cannot be read.
        """


def seeds_of(seed: int) -> np.random.SeedSequence:
    """Return the seed sequence that spawns those of a workload's parts."""
    return np.random.SeedSequence([seed, _WORKLOAD_STREAM])


def drawn_start(requests: int, seed: int) -> int:
    """Draw the number of the request with which a random start begins."""
    return int(np.random.default_rng(seeds_of(seed)).integers(requests))


# Chunks of requests: the unit in which workloads are made, and the stream that hands them out.
#
# Sources hold all their state in plain attributes, so that a stream can be copied and pickled at any point
# and both copies go on alike.

#: Requests drawn at a time. Large enough to hide numpy's cost per call, small enough that the first
#: request after a reset does not wait for many that may never be taken.
CHUNK = 4096

NO_REQUESTS: Requests = np.zeros(0, REQUEST)
NO_REQUESTS.flags.writeable = False


class Source(Protocol):
    """A source of requests, drawn in chunks of its own size."""

    def chunk(self) -> Requests:
        """Return the next requests, shape (n,); an empty array at the end and ever after."""


class RequestStream:
    """The requests of a source, in portions of any size."""

    def __init__(self, source: Source, report: Callable[[], dict[str, int]]) -> None:
        # Called on demand only, as it may take a while; can be pickled.
        self._make_report = report
        self._source = source
        self._chunk = NO_REQUESTS
        self._taken = 0

    @property
    def report(self) -> dict[str, int]:
        """Facts about the workload as a whole; computing them may read all of a trace.

        `footprint_pages`, and for traces and synthetic traces `requests`, `trace_pages`, `out_of_order`,
        `trims_below_a_page`, `skipped_lines`, and of the `written_pages` the `rewritten_pages`, which it has
        written before (by its own addresses); for tenants how many `tenants`, and the sums over them, but for
        the first two of these.
        """
        return self._make_report()

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests as an array of dtype REQUEST; empty at the end."""
        if max_requests < 1:
            raise ValueError(f"max_requests must be at least 1, not {max_requests}")
        if self._taken == len(self._chunk):
            self._chunk, self._taken = self._source.chunk(), 0
        portion = self._chunk[self._taken : self._taken + max_requests]
        self._taken += len(portion)
        return portion

    def take(self, requests: int) -> Requests:
        """Return exactly `requests` requests, or as many as are left."""
        portions = []
        while requests > 0 and len(portion := self.next(requests)):
            portions.append(portion)
            requests -= len(portion)
        return np.concatenate(portions) if portions else NO_REQUESTS


#: Times that would go beyond stay here; no device takes so late a request, unless it ignores all times.
_LATEST_NS = 2**62


class Lap(Protocol):
    """Requests once through, with times from the first."""

    @property
    def requests(self) -> int:
        """How many have been played."""

    @property
    def last_ns(self) -> int:
        """Arrival of the last request so far."""

    def chunk(self) -> Requests:
        """Return the next requests, shape (n,), an array of the caller's own; empty at the end."""


#: Makes lap number n from its start; the first may be shorter than the others. Can be pickled.
Laps = Callable[[int], Lap]


class Loops:
    """A source that plays laps `loops` times, or for ever where that is `None`.

    Each lap starts one mean time between arrivals after the last request of the lap before.
    """

    def __init__(self, laps: Laps, loops: int | None) -> None:
        self._laps = laps
        self._loops = loops
        self._number = 0
        self._now = laps(0)
        self._start_ns = 0

    def __deepcopy__(self, memo: dict[int, object]) -> Loops:
        """Copy the current lap; share `laps`, whose tables may be large."""
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
        # A whole lap without a request means that none will ever come.
        if not played and self._number > 1:
            self._loops = self._number
        self._now = self._laps(self._number)


class NotedConfig(WorkloadConfig, BasedConfig):
    """Base of workloads whose every value has a source, or a reason for which it is assumed."""

    folder: ClassVar[str] = "workloads"
    by_field: ClassVar[tuple[str, ...]] = NOTES

    sources: dict[str, str] = Field(
        default_factory=dict, description="Where values were published, by name of the field."
    )
    assumed: dict[str, str] = Field(
        default_factory=dict,
        description="Values that no source gives, by name of the field, with the reason.",
    )

    def assumptions(self) -> tuple[str, ...]:
        """See `WorkloadConfig`."""
        return tuple(sorted(self.assumed))

    @classmethod
    def noted_names(cls) -> list[str]:
        """Return the names that a note may be on."""
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
