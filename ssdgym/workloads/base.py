"""Base of all workloads: a checked model that opens as a stream of requests."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal, Protocol, Self

import numpy as np
from pydantic import Field

from ssdgym.config.loading import Config
from ssdgym.requests import Requests

Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
#: So bounded that no sum or product of them leaves its range.
Weight = Annotated[float, Field(gt=0, le=1e100)]

#: Where a recorded sequence of requests begins, if its configuration leaves it open.
StartAt = Literal["first", "random"]

#: Keeps the draws of workloads apart from the other users of a seed (docs/engine.md, Randomness).
_WORKLOAD_STREAM = 3


class RequestStream(Protocol):
    """A workload on its way into a device.

    Attributes:
        report: facts about the workload as a whole: `footprint_pages`, and for traces and synthetic traces
            `requests`, `trace_pages`, `out_of_order`, `trims_below_a_page`, `skipped_lines`, and of the
            `written_pages` the `rewritten_pages`, which it has written before (by its own addresses);
            for tenants how many `tenants`, and the sums over them, but for the first two of these.
            Computing them may read all of a trace.
    """

    @property
    def report(self) -> dict[str, int]:
        """Facts about the workload as a whole."""

    def next(self, max_requests: int) -> Requests:
        """Return the next 1 to `max_requests` requests, shape (n,), dtype REQUEST; empty at the end.

        The requests do not depend on the portions in which they are taken.
        """


class WorkloadConfig(Config):
    """Base of all workloads: the requests of a host, and when they arrive.

    Attributes:
        kind: name of the model, by which a mapping is read as it.
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
    def never_writes(self) -> bool:
        """Return whether no page is written, as far as the configuration shows; that of a trace does not."""

    def writes_nothing(self) -> bool:
        """Return whether no page is written at all, so that no number of host pages is ever reached.

        Raises:
            SsdgymError: a trace cannot be read.
        """
        return self.never_writes()

    def assumptions(self) -> tuple[str, ...]:
        """Return the fields that no source gives, sorted; results made with the workload name them."""
        return tuple(sorted({name for part in self.parts() for name in part.assumptions()}))

    def parts(self) -> tuple[WorkloadConfig, ...]:
        """Return the workloads that this one is made of."""
        return ()

    def with_start(self, start: StartAt) -> Self:
        """Return the workload with a start for every trace in it that has none.

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
    """Return the seed sequence from which a workload spawns those of its parts."""
    return np.random.SeedSequence([seed, _WORKLOAD_STREAM])


def drawn_start(requests: int, seed: int) -> int:
    """Return the number of the request that a random start begins with.

    Args:
        requests: how many there are to choose from.
        seed: of the workload.
    """
    return int(np.random.default_rng(seeds_of(seed)).integers(requests))
