"""Laps: requests that are played again and again, each time with the times that follow."""

from __future__ import annotations

import copy
from typing import Protocol

import numpy as np

from ssdgym.requests import Requests
from ssdgym.workloads.chunks import NO_REQUESTS

#: Times that would go beyond stay here; no device takes so late a request, unless it ignores all times.
_LATEST_NS = 2**62


class Lap(Protocol):
    """Requests once through, with times that count from the first of them.

    Attributes:
        requests: how many have been played.
        last_ns: arrival of the last of these.
    """

    @property
    def requests(self) -> int:
        """How many have been played."""

    @property
    def last_ns(self) -> int:
        """Arrival of the last request so far."""

    def chunk(self) -> Requests:
        """Return the next requests, shape (n,), an array of the caller's own; empty at the end."""


class Circuit(Protocol):
    """What makes laps. Its state is in plain attributes, so that a source can be copied and pickled."""

    def lap(self, number: int) -> Lap:
        """Return a lap, not begun; number 0 is the first and may be shorter than those after it."""


class Loops:
    """A source that plays laps `loops` times, or for ever.

    Each lap starts one mean time between arrivals after the last request of the lap before.
    """

    def __init__(self, circuit: Circuit, loops: int | None) -> None:
        """Start with the first request.

        Args:
            circuit: makes the laps.
            loops: how many are played; `None`: for ever.
        """
        self._circuit = circuit
        self._loops = loops
        self._number = 0
        self._now = circuit.lap(0)
        self._start_ns = 0

    def __deepcopy__(self, memo: dict[int, object]) -> Loops:
        """Copy what changes; the circuit, whose tables may be large, is shared."""
        twin = copy.copy(self)
        twin._now = copy.deepcopy(self._now, memo)
        return twin

    def chunk(self) -> Requests:
        """See `ssdgym.workloads.chunks.Source`."""
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
        self._now = self._circuit.lap(self._number)
