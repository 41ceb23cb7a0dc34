"""What both clocks of the reference share: requests, the input, and parts of latencies."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from .blocks import Told
from .collecting import Collecting
from .erase_sets import Pair
from .lifetime import EndOfLife


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


READ, WRITE, TRIM, FLUSH = range(4)
PARTIAL_HEAD, PARTIAL_TAIL = 1, 2

#: Yields the plane whose victims have to be chosen, takes a list of (block, mask).
Steps = Generator[int, list[Pair], None]
#: As `Steps`; returns whether there was anything to do.
Work = Generator[int, list[Pair], bool]


@dataclass(eq=False, kw_only=True)
class Request(Told):
    serial: int
    arrival_ns: int
    op: int
    flags: int
    admitted: int = 0  # pages
    done: int = 0  # pages
    begun: bool = False  # in admission, or admitted

    def is_partial(self, page: int) -> bool:
        head = page == 0 and self.flags & PARTIAL_HEAD
        tail = page == self.pages - 1 and self.flags & PARTIAL_TAIL
        return bool(head or tail)


@dataclass(eq=False)
class Page(Transaction):
    """One page of a request: the transaction that holds a place in the window."""

    request: Request
    lpn: int
    is_partial: bool
    version: int = 0  # of a write: what it programs
    reads_first: bool = False  # a partial write whose old page has not been read yet


class Loop:
    """The input, the horizon and the binding of writes, which both clocks share."""

    def __init__(self, device: Collecting) -> None:
        self.device = device
        self.config = device.config
        self.counters = device.counters
        self.input: deque[Request] = deque()
        self.horizon: int | None = None
        self.written_pages_admitted = 0
        self.latencies: dict[int, int] = {}
        self.waits = Waits()
        self.now = 0
        self.est = [0] * self.config.dies
        self.die_cursor = 0

    def steps(self, last: bool) -> Steps:
        raise NotImplementedError

    def check_life(self) -> None:
        if self.device.life.over:
            raise EndOfLife

    def begin_request(self, request: Request) -> None:
        """Take the request into admission, if it is not in it yet."""
        request.begun = True

    def between_steps(self) -> None:
        if self.device.rule:
            self.device.rule.between_steps()

    def reset_input(self) -> None:
        """Forget what the horizon cut off."""
        self.input.clear()
        self.written_pages_admitted = 0

    def horizon_reached(self) -> bool:
        return self.horizon is not None and self.written_pages_admitted >= self.horizon

    def take_page(self) -> Page:
        """The next page of input. A flush has none and is taken by `input.popleft`."""
        request = self.input[0]
        lpn = (request.lpn + request.admitted) % self.device.life.capacity
        page = Page(request, lpn, request.is_partial(request.admitted))
        request.admitted += 1
        if request.admitted == request.pages:
            self.input.popleft()
        self.written_pages_admitted += request.op == WRITE
        self.counters["host_reads"] += request.op == READ
        return page

    def reads_first(self, page: Page) -> bool:
        return (
            page.is_partial
            and self.device.is_mapped(page.lpn)
            and not self.device.newer_version_waits(page.lpn)
        )

    def die_to_bind(self) -> int:
        """Binding on arrival: the die that will be free first, from the cursor on."""
        dies = range(self.config.dies)
        order = [*dies[self.die_cursor :], *dies[: self.die_cursor]]
        return min(order, key=lambda number: max(self.est[number], self.now))

    def bind_die(self) -> int:
        die = self.die_to_bind()
        self.die_cursor = (die + 1) % self.config.dies
        return die
