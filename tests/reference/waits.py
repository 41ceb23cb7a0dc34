"""Latency told apart: what of it the last command took, and garbage collection before that."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple


@dataclass(eq=False, kw_only=True)
class Transaction:
    """What the host gives to dies, and when that happened last."""

    die: int | None = None  # None: queued to no die
    queued: int = 0
    started: int | None = None  # its command; None: there was none since it was queued


class Parts(NamedTuple):
    """Of the latency of a request; the rest of it was spent waiting for other things."""

    service_ns: int = 0
    gc_wait_ns: int = 0


class Waits:
    """When the dies have collected garbage, and the parts of all latencies."""

    def __init__(self) -> None:
        self.collected: dict[int, list[tuple[int, int]]] = {}  # by die: commands, from when to when
        self.last: dict[int, Parts] = {}  # by request: as its command that ended last tells them
        self.parts: dict[tuple[int, int], Parts] = {}  # by op and request that has completed

    def note_collected(self, die: int, start: int, end: int) -> None:
        self.collected.setdefault(die, []).append((start, end))

    def note_ended(self, serial: int, transaction: Transaction, now: int) -> None:
        """Follow the end of a command of the request, if there was one."""
        if transaction.started is None:
            return
        collecting = 0
        if transaction.die is not None:
            collecting = self.between(transaction.die, transaction.queued, transaction.started)
        self.last[serial] = Parts(now - transaction.started, collecting)

    def note_completed(self, serial: int, op: int) -> None:
        self.parts[op, serial] = self.last.pop(serial, Parts())

    def between(self, die: int, since: int, until: int) -> int:
        """How long the die was collecting garbage between these times, by commands that have ended."""
        latest_first = reversed(self.collected.get(die, []))
        later = takewhile(lambda times: times[1] > since, latest_first)
        return sum(max(min(end, until) - max(start, since), 0) for start, end in later)

    def of_op(self, op: int) -> list[Parts]:
        return [parts for (of_op, _), parts in self.parts.items() if of_op == op]
