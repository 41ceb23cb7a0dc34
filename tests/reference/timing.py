"""The two clocks of the reference: requests carried out one after the other, or by discrete events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from .config import ReferenceConfig
from .device import Device
from .policies import Policy

READ, WRITE, TRIM, FLUSH = range(4)
PARTIAL_HEAD, PARTIAL_TAIL = 1, 2

#: Yields the plane whose victim has to be chosen, takes (block, mask).
Steps = Generator[int, tuple[int, int], None]
#: As `Steps`; returns whether there was anything to do.
Work = Generator[int, tuple[int, int], bool]


@dataclass(eq=False)
class Request:
    serial: int
    arrival_ns: int
    lpn: int
    pages: int
    op: int
    flags: int
    admitted: int = 0  # pages
    done: int = 0  # pages

    def is_partial(self, page: int) -> bool:
        head = page == 0 and self.flags & PARTIAL_HEAD
        tail = page == self.pages - 1 and self.flags & PARTIAL_TAIL
        return bool(head or tail)


@dataclass(eq=False)
class Page:
    """One page of a request: the transaction that holds a place in the window."""

    request: Request
    lpn: int
    is_partial: bool
    version: int = 0  # of a write: what it programs
    reads_first: bool = False  # a partial write whose old page has not been read yet


class Loop:
    """The input, the horizon and the binding of writes, which both clocks share."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.config = device.config
        self.counters = device.counters
        self.input: deque[Request] = deque()
        self.horizon: int | None = None
        self.written_pages_admitted = 0
        self.latencies: dict[int, int] = {}
        self.now = 0
        self.est = [0] * self.config.dies
        self.die_cursor = 0

    def steps(self, last: bool) -> Steps:
        raise NotImplementedError

    def reset_input(self) -> None:
        """Forget what the horizon cut off."""
        self.input.clear()
        self.written_pages_admitted = 0

    def horizon_reached(self) -> bool:
        return self.horizon is not None and self.written_pages_admitted >= self.horizon

    def take_page(self) -> Page:
        """The next page of input. A flush has none and is taken by `input.popleft`."""
        request = self.input[0]
        page = Page(request, request.lpn + request.admitted, request.is_partial(request.admitted))
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

    def bind_die(self) -> int:
        """Dynamic allocation: the die that will be free first, from the cursor on."""
        dies = range(self.config.dies)
        order = [*dies[self.die_cursor :], *dies[: self.die_cursor]]
        die = min(order, key=lambda number: max(self.est[number], self.now))
        self.die_cursor = (die + 1) % self.config.dies
        return die


class UntimedLoop(Loop):
    def steps(self, last: bool) -> Steps:
        while True:
            if self.horizon_reached():
                return
            if any(self.device.foreground):
                yield from self.collect(self.device.foreground.index(True))
            elif not self.input:
                return
            elif self.input[0].op == FLUSH:
                self.input.popleft()
            else:
                self.carry_out(self.take_page())

    def collect(self, plane: int) -> Steps:
        self.device.start_round(plane, *(yield plane))
        while self.device.move_next(plane):
            pass
        self.device.erase(plane)

    def carry_out(self, page: Page) -> None:
        if page.request.op == TRIM:
            self.device.trim(page.lpn)
        elif page.request.op == WRITE:
            self.write(page)
        elif self.device.is_mapped(page.lpn):
            self.device.read_flash(page.lpn)
        else:
            self.counters["unmapped_reads"] += 1

    def write(self, page: Page) -> None:
        if self.reads_first(page):
            self.counters["rmw_reads"] += 1
            self.device.read_flash(page.lpn)
        version = self.device.accept_write(page.lpn)
        self.device.host_program(self.bind_plane(page.lpn), page.lpn, version)

    def bind_plane(self, lpn: int) -> int:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        plane = self.device.plane_with_room(self.bind_die())
        if plane is None:
            return self.device.emptiest_plane()
        self.device.advance_plane_cursor(plane)
        return plane


@dataclass(eq=False)
class Command:
    """What a die is doing: the phases still to come, each (needs the channel, ns), and the host's page."""

    phases: list[tuple[bool, int]]
    page: Page | None = None


@dataclass(eq=False)
class Die:
    number: int
    reads: deque[Page] = field(default_factory=deque)
    writes: deque[Page] = field(default_factory=deque)
    command: Command | None = None  # None: idle


@dataclass(eq=False)
class Channel:
    free_at: int = 0
    waiting: deque[tuple[Die, int]] = field(default_factory=deque)  # (die, ns it wants the channel)


class EventLoop(Loop):
    def __init__(self, device: Device) -> None:
        super().__init__(device)
        c = self.config
        self.read_phases = [(False, c.read_ns), (True, c.transfer_ns)]
        self.write_phases = [(True, c.transfer_ns), (False, c.program_ns)]
        self.move_phases = [(False, c.read_ns), (True, 2 * c.transfer_ns), (False, c.program_ns)]
        self.erase_phases = [(False, c.erase_ns)]
        self.dies = [Die(number) for number in range(c.dies)]
        self.channels = [Channel() for _ in range(c.channels)]
        self.channel_events: dict[int, int] = {}  # channel -> when it serves the next waiting die
        self.die_events: dict[int, int] = {}  # die -> when its phase ends
        self.ready: deque[Die] = deque()
        self.in_flight: list[Page] = []  # the window
        self.outstanding: list[Request] = []
        first, second = (self.foreground_gc, self.host_read)
        if c.gc_priority == "after_reads":
            first, second = second, first
        self.classes: list[Callable[[Die], Work]] = [first, second, self.host_write, self.background_gc]

    def reset_input(self) -> None:
        super().reset_input()
        self.outstanding.clear()

    def steps(self, last: bool) -> Steps:
        while True:
            if self.horizon_reached() or (last and not self.input):
                if not self.in_flight:
                    return
            elif not self.input:
                return
            yield from self.step()

    def step(self) -> Steps:
        if self.ready:
            # The die stays at the head while it looks for work, so that it cannot join a second time.
            yield from self.dispatch(self.ready[0])
            self.ready.popleft()
        elif self.can_admit():
            self.admit()
        else:
            self.advance()

    # Admission

    def can_admit(self) -> bool:
        if self.horizon_reached() or not self.input or len(self.in_flight) >= self.config.window_pages:
            return False
        request = self.input[0]
        if request.op == FLUSH and any(page.request.op == WRITE for page in self.in_flight):
            return False
        if request.admitted > 0:
            return True
        if self.config.closed_loop:
            return len(self.outstanding) < self.config.queue_depth
        return request.arrival_ns <= self.now

    def admit(self) -> None:
        if self.input[0].op == FLUSH:
            self.input.popleft()
            return
        page = self.take_page()
        if page.request.admitted == 1:
            self.outstanding.append(page.request)
            if self.config.closed_loop:
                page.request.arrival_ns = self.now
        admit_op = {READ: self.admit_read, WRITE: self.admit_write, TRIM: self.admit_trim}
        admit_op[page.request.op](page)

    def admit_read(self, page: Page) -> None:
        if self.device.newer_version_waits(page.lpn):
            self.counters["queue_hits"] += 1
            self.page_done(page)
        elif not self.device.is_mapped(page.lpn):
            self.counters["unmapped_reads"] += 1
            self.page_done(page)
        else:
            self.in_flight.append(page)
            self.queue_read(page)

    def admit_write(self, page: Page) -> None:
        self.in_flight.append(page)
        page.reads_first = self.reads_first(page)
        page.version = self.device.accept_write(page.lpn)
        if page.reads_first:
            self.counters["rmw_reads"] += 1
            self.queue_read(page)
        else:
            self.queue_write(page)

    def admit_trim(self, page: Page) -> None:
        self.device.trim(page.lpn)
        self.page_done(page)

    def queue_read(self, page: Page) -> None:
        die = self.die_of_lpn(page.lpn)
        die.reads.append(page)
        self.charge(die, self.read_phases)
        self.make_ready(die)

    def queue_write(self, page: Page) -> None:
        if self.config.allocation == "static":
            number = self.device.die_of_plane(page.lpn % self.config.planes)
        else:
            number = self.bind_die()
        self.queue_write_to(self.dies[number], page)

    def queue_write_to(self, die: Die, page: Page) -> None:
        die.writes.append(page)
        self.charge(die, self.write_phases)
        self.make_ready(die)

    def die_of_lpn(self, lpn: int) -> Die:
        plane = self.device.plane_of_page(self.device.logical[lpn].ppn)
        return self.dies[self.device.die_of_plane(plane)]

    def charge(self, die: Die, phases: list[tuple[bool, int]]) -> None:
        nominal_ns = sum(ns for _, ns in phases)
        self.est[die.number] = max(self.est[die.number], self.now) + nominal_ns

    def make_ready(self, die: Die) -> None:
        if die.command is None and die not in self.ready:
            self.ready.append(die)

    def page_done(self, page: Page) -> None:
        if page.reads_first:
            page.reads_first = False
            self.queue_write(page)
            return
        if page in self.in_flight:
            self.in_flight.remove(page)
        request = page.request
        request.done += 1
        if request.done == request.pages:
            self.outstanding.remove(request)
            if request.op in (READ, WRITE):
                self.latencies[request.serial] = self.now - request.arrival_ns

    # Dispatch: every class returns whether it did something, after which a die still idle looks again

    def dispatch(self, die: Die) -> Steps:
        did_something = True
        while die.command is None and did_something:
            for work in self.classes:
                did_something = yield from work(die)
                if did_something:
                    break

    def foreground_gc(self, die: Die) -> Work:
        for plane in self.device.planes_of_die(die.number):
            if self.device.foreground[plane]:
                yield from self.collect(die, plane)
                return True
        return False

    def host_read(self, die: Die) -> Work:
        yield from ()  # asks for no decision, but is called as the other classes are
        if not die.reads:
            return False
        page = die.reads.popleft()
        if not self.device.is_mapped(page.lpn):
            self.page_done(page)
        elif self.die_of_lpn(page.lpn) is not die:
            self.queue_read(page)
        else:
            self.device.read_flash(page.lpn)
            self.start(die, self.read_phases, page)
        return True

    def host_write(self, die: Die) -> Work:
        if not die.writes:
            return False
        page = die.writes[0]
        plane = self.bind_plane(die, page.lpn)
        if plane is None:
            self.send_elsewhere(die.writes.popleft())
        elif plane in self.device.rounds:
            yield from self.collect(die, plane)
        else:
            die.writes.popleft()
            if self.config.allocation == "dynamic":
                self.device.advance_plane_cursor(plane)
            self.device.host_program(plane, page.lpn, page.version)
            self.start(die, self.write_phases, page)
        return True

    def bind_plane(self, die: Die, lpn: int) -> int | None:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        return self.device.plane_with_room(die.number)

    def send_elsewhere(self, page: Page) -> None:
        plane = self.device.emptiest_plane()
        if self.device.valid_in_plane(plane) >= self.config.max_valid_pages:
            raise RuntimeError("every plane holds V_max valid pages: this write would be sent round for ever")
        self.queue_write_to(self.dies[self.device.die_of_plane(plane)], page)

    def background_gc(self, die: Die) -> Work:
        planes = self.device.planes_of_die(die.number)
        running = [plane for plane in planes if plane in self.device.rounds]
        wanting = [plane for plane in planes if self.device.wants_background_gc(plane)]
        if running:
            yield from self.collect(die, running[0])
        elif wanting:
            yield from self.collect(die, min(wanting, key=self.device.free_pages))
        return bool(running or wanting)

    def collect(self, die: Die, plane: int) -> Steps:
        """Start the next command of the plane's round, and a round if none is running."""
        if plane not in self.device.rounds:
            self.device.start_round(plane, *(yield plane))
        if self.device.move_next(plane):
            phases = self.move_phases
        else:
            self.device.erase(plane)
            phases = self.erase_phases
        self.charge(die, phases)
        self.start(die, phases)

    # Time

    def start(self, die: Die, phases: list[tuple[bool, int]], page: Page | None = None) -> None:
        die.command = Command(list(phases), page)
        self.next_phase(die)

    def next_phase(self, die: Die) -> None:
        assert die.command is not None
        if not die.command.phases:
            self.end(die, die.command)
            return
        needs_channel, ns = die.command.phases.pop(0)
        if needs_channel:
            self.ask_channel(die, ns)
        else:
            self.die_events[die.number] = self.now + ns

    def end(self, die: Die, command: Command) -> None:
        die.command = None
        self.make_ready(die)
        if command.page is not None:
            self.page_done(command.page)

    def ask_channel(self, die: Die, ns: int) -> None:
        number = die.number % self.config.channels
        channel = self.channels[number]
        if channel.free_at <= self.now and not channel.waiting:
            self.grant(channel, die, ns)
        else:
            channel.waiting.append((die, ns))
            self.channel_events[number] = channel.free_at

    def grant(self, channel: Channel, die: Die, ns: int) -> None:
        channel.free_at = self.now + ns
        assert die.command is not None
        array_ns = (
            die.command.phases.pop(0)[1] if die.command.phases else 0
        )  # behind the transfer: the program
        self.die_events[die.number] = channel.free_at + array_ns

    def serve_next(self, number: int) -> None:
        channel = self.channels[number]
        self.grant(channel, *channel.waiting.popleft())
        if channel.waiting:
            self.channel_events[number] = channel.free_at

    def advance(self) -> None:
        """Take the next event, or go to the next arrival if that is earlier."""
        events = [(time, 0, number) for number, time in self.channel_events.items()]
        events += [(time, 1, number) for number, time in self.die_events.items()]
        arrival = self.next_arrival()
        if arrival is not None and (not events or arrival < min(events)[0]):
            self.now = arrival
            return
        self.now, kind, number = min(events)
        if kind == 0:
            del self.channel_events[number]
            self.serve_next(number)
        else:
            del self.die_events[number]
            self.next_phase(self.dies[number])

    def next_arrival(self) -> int | None:
        """When the next request arrives; None if it is here already or comes by the queue depth."""
        if self.horizon_reached() or not self.input or self.config.closed_loop:
            return None
        arrival_ns = self.input[0].arrival_ns
        return arrival_ns if arrival_ns > self.now else None


class Reference:
    """The reference device: `run` it with a policy, or take its `decisions` yourself."""

    def __init__(self, config: ReferenceConfig, policy: Policy | None = None) -> None:
        self.config = config
        self.policy = policy
        self.device = Device(config)
        self.loop = UntimedLoop(self.device) if config.timing == "none" else EventLoop(self.device)
        self._serial = 0

    @property
    def latencies(self) -> dict[int, int]:
        """Request serial (its place in all input so far) -> ns; reads and writes of `timing: event` only."""
        return self.loop.latencies

    @property
    def counters(self) -> dict[str, int]:
        return self.device.counters

    def run(
        self,
        requests: Iterable[tuple[int, int, int, int, int]],
        *,
        horizon: int | None = None,
        last: bool = True,
    ) -> None:
        """Carry out (arrival_ns, lpn, pages, op, flags) requests; with `last=False` more are to come.

        A horizon counts the written pages admitted since the last run that ended; give the same with
        every chunk. Raises IllegalEraseSet where the policy chooses a set that may not be erased.
        """
        assert self.policy is not None, "a reference without a policy is driven by decisions()"
        steps = self.decisions(requests, horizon=horizon, last=last)
        choice: Any = None
        while True:
            try:
                plane = steps.send(choice)
            except StopIteration:
                return
            choice = self.policy(self.device, plane)

    def decisions(
        self,
        requests: Iterable[tuple[int, int, int, int, int]],
        *,
        horizon: int | None = None,
        last: bool = True,
    ) -> Steps:
        """As `run`, but yields each plane that needs a victim and takes (block, mask) by `send`.

        A refused set raises IllegalEraseSet and ends the generator, not the run: `decisions([], ...)`
        comes back to the same decision.
        """
        for arrival_ns, lpn, pages, op, flags in requests:
            self.loop.input.append(Request(self._serial, arrival_ns, lpn, pages, op, flags))
            self._serial += 1
        self.loop.horizon = horizon
        yield from self.loop.steps(last)
        if last or self.loop.horizon_reached():
            self.device.audit()
            self.loop.reset_input()

    def export(self) -> dict[str, Any]:
        """All state as plain lists; blocks, planes and pages by their device-wide numbers."""
        device = self.device
        planes = range(self.config.planes)
        return {
            "logical_ppn": [page.ppn for page in device.logical],
            "logical_version": [page.version for page in device.logical],
            "accepted": [page.accepted for page in device.logical],
            "physical": list(device.physical),
            "written": list(device.written),
            "valid": [device.valid_in_sub_block(sub) for sub in range(len(device.written))],
            "erases": list(device.erases),
            "closed_at": list(device.closed_at),
            "invalidated_at": list(device.invalidated_at),
            "open": [[self._open_block(p, stream) for stream in range(self.config.streams)] for p in planes],
            "pool": [list(pool) for pool in device.pools],
            "ages": [list(blocks) for blocks in device.ages],
            "buckets": [[list(bucket) for bucket in buckets] for buckets in device.buckets],
            "free_pages": [device.free_pages(plane) for plane in planes],
            "rounds": [device.rounds.get(plane, (-1, 0)) for plane in planes],
            "foreground": list(device.foreground),
            "die_cursor": self.loop.die_cursor,
            "plane_cursors": list(device.plane_cursors),
            "est": list(self.loop.est),
            "clock": device.clock,
            "now": self.loop.now,
            "hotness": [n for row in device.hotness.rows for n in row] if device.hotness else [],
            "groups": [[groups.group_of(block) for block in groups.standing] for groups in device.groups],
        }

    def _open_block(self, plane: int, stream: int) -> int:
        place = self.device.open.get((plane, stream))
        return -1 if place is None else place.block
