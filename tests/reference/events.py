"""The reference in time, by discrete events: admission, and what the dies do next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .background import BackgroundGc
from .device import Device
from .loop import FLUSH, READ, TRIM, WRITE, Page, Steps, Work
from .nand import Command, Die, Event, Nand, Phases


class EventLoop(BackgroundGc):
    """Admission, and the classes of work that a die looks for."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        c = self.config
        self.nand = Nand(c)
        self.ready: deque[Die] = deque()
        self.in_flight: list[Page] = []  # the window
        first, second = (self.foreground_gc, self.host_read)
        if c.gc_priority == "after_reads":
            first, second = second, first
        self.classes: list[Callable[[Die], Work]] = [first, second, self.host_write, self.background_gc]

    def reset_input(self) -> None:
        super().reset_input()
        self.outstanding.clear()

    def steps(self, last: bool) -> Steps:
        while True:
            self.between_steps()
            if self.horizon_reached() or (last and not self.input):
                if not self.in_flight:
                    return
            elif not self.input:
                return
            yield from self.step()

    def step(self) -> Steps:
        if self.input and self.input[0].admitted > 0 and self.can_admit():
            self.admit()  # the pages of a request come together
        elif self.ready:
            # The die stays at the head while it looks for work, so that it cannot join a second time.
            yield from self.dispatch(self.ready[0])
            self.ready.popleft()
        elif (die := self.die_to_offer()) is not None:
            self.die_cursor = (die.number + 1) % self.config.dies
            self.make_ready(die)
        elif self.can_admit():
            self.admit()
        else:
            self.advance()

    def die_to_offer(self) -> Die | None:
        """The idle die, from the cursor on, that could take the head of the common queue."""
        if not self.common:
            return None
        dies = self.nand.dies[self.die_cursor :] + self.nand.dies[: self.die_cursor]
        idle = [die for die in dies if die.command is None]
        with_room = [die for die in idle if any(map(self.device.has_room, self.planes_of(die)))]
        return with_room[0] if with_room else None

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
            return request.op == FLUSH or len(self.outstanding) < self.config.queue_depth
        return request.arrival_ns <= self.now

    def admit(self) -> None:
        if self.input[0].op == FLUSH:
            self.input.popleft()
            self.started += 1
            return
        page = self.take_page()
        if page.request.admitted == 1:
            self.started += 1
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
            self.queue_read(page)
        else:
            self.queue_write(page)

    def admit_trim(self, page: Page) -> None:
        self.device.trim(page.lpn)
        self.page_done(page)

    def queue_read(self, page: Page) -> None:
        die = self.die_of_lpn(page.lpn)
        die.reads.append(page)
        self.charge(die, self.commands.read())
        self.make_ready(die)

    def queue_write(self, page: Page) -> None:
        if self.config.allocation == "late":
            self.common.append(page)
        elif self.config.allocation == "dynamic":
            self.queue_write_to(self.nand.dies[self.bind_die()], page)
        else:
            self.queue_write_to(self.die_of_plane(page.lpn % self.config.planes), page)

    def queue_write_to(self, die: Die, page: Page) -> None:
        die.writes.append(page)
        self.charge(die, self.commands.write(1))
        self.make_ready(die)

    def die_of_lpn(self, lpn: int) -> Die:
        return self.die_of_plane(self.device.plane_of_page(self.device.logical[lpn].ppn))

    def die_of_plane(self, plane: int) -> Die:
        return self.nand.dies[self.device.die_of_plane(plane)]

    def charge(self, die: Die, phases: Phases) -> None:
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
            self.look_at(die)
            for work in self.classes:
                did_something = yield from work(die)
                if did_something:
                    break

    def foreground_gc(self, die: Die) -> Work:
        for plane in self.planes_of(die):
            if self.device.foreground[plane]:
                yield from self.collect(die, plane)
                return True
        return False

    def host_read(self, die: Die) -> Work:
        yield from ()  # asks for no decision, but is called as the other classes are
        if not die.reads:
            return False
        page = die.reads.popleft()
        if not self.device.is_mapped(page.lpn):  # trimmed while the read was waiting
            self.counters["unmapped_reads"] += not page.reads_first
            self.page_done(page)
        elif self.die_of_lpn(page.lpn) is not die:
            self.queue_read(page)
        else:
            self.counters["rmw_reads"] += page.reads_first
            self.device.read_flash(page.lpn)
            self.start(die, self.commands.read(), [page])
        return True

    def host_write(self, die: Die) -> Work:
        is_late = self.config.allocation == "late"
        queue = self.common if is_late else die.writes
        if not queue:
            return False
        plane = self.bind_plane(die, queue[0].lpn)
        if plane is None and is_late:
            return False
        if plane is None:
            self.send_elsewhere(queue.popleft())
        elif not self.device.takes_host_pages(plane):
            yield from self.collect(die, plane)
        else:
            self.start_write(die, plane, queue)
        return True

    def bind_plane(self, die: Die, lpn: int) -> int | None:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        return self.device.plane_with_room(die.number)

    def start_write(self, die: Die, plane: int, queue: deque[Page]) -> None:
        """Program the head of the queue in the plane and, with multi-plane writes, what may join it."""
        order = self.planes_behind(die, plane)
        self.device.request = queue[0].request
        row = self.device.host_row(plane, queue[0].lpn) if self.config.multi_plane_writes else None
        if self.config.allocation != "static":
            self.device.advance_plane_cursor(plane)
        pages = [self.program_head(plane, queue)]
        while row is not None and queue and (joins := self.planes_to_join(order, queue[0], row)):
            order.remove(joins[0])
            pages.append(self.program_head(joins[0], queue))
            self.counters["joined_writes"] += 1
        self.start(die, self.commands.write(len(pages)), pages)

    def program_head(self, plane: int, queue: deque[Page]) -> Page:
        page = queue.popleft()
        self.device.request = page.request
        self.device.host_program(plane, page.lpn, page.version)
        return page

    def planes_behind(self, die: Die, plane: int) -> list[int]:
        """The other planes of the die, upwards and wrapping."""
        planes = self.planes_of(die)
        position = planes.index(plane)
        return planes[position + 1 :] + planes[:position]

    def planes_to_join(self, others: list[int], page: Page, row: int) -> list[int]:
        """Those of the planes not in the command yet where the page could be programmed with it, in order."""
        lpn, self.device.request = page.lpn, page.request
        if self.config.allocation == "static":
            others = [plane for plane in others if plane == lpn % self.config.planes]
        else:
            others = [plane for plane in others if self.device.has_room(plane)]
        undisturbed = [plane for plane in others if self.device.takes_host_pages(plane)]
        return [plane for plane in undisturbed if self.device.host_row(plane, lpn) == row]

    def send_elsewhere(self, page: Page) -> None:
        plane = self.device.emptiest_plane()
        if not self.device.has_room(plane):
            raise RuntimeError("every plane holds V_max valid pages: this write would be sent round for ever")
        self.queue_write_to(self.die_of_plane(plane), page)

    def collect(self, die: Die, plane: int) -> Steps:
        """Start the next command of the round that runs in the plane, and a round if none is running."""
        if self.device.leader_of(plane) is None:
            self.device.start_round(plane, (yield plane))
        pages = self.device.move_next(plane)
        if pages:
            phases = self.commands.move(pages)
        else:
            self.device.erase(plane)
            phases = self.commands.erase()
        self.charge(die, phases)
        self.start(die, phases)

    # Time

    def start(self, die: Die, phases: Phases, pages: list[Page] | None = None) -> None:
        self.nand.start(die, Command(phases, pages or []), self.now)

    def advance(self) -> None:
        """Take the next event, or go to the next arrival if that is earlier."""
        event, arrival = self.next_event(), self.next_arrival()
        if arrival is not None and (event is None or arrival < event[0]):
            self.now = arrival
            return
        assert event is not None
        self.now, kind, number = event
        if kind == 1 and number in self.timers:
            del self.timers[number]
            self.make_ready(self.nand.dies[number])
        elif ended := self.nand.take(event):
            die, command = ended
            self.make_ready(die)
            for page in command.pages:
                self.page_done(page)

    def next_event(self) -> Event | None:
        """Of the flash, or the timer of an idle die."""
        timers = [(time, 1, number) for number, time in self.timers.items()]
        return min([*timers, *filter(None, [self.nand.next_event()])], default=None)

    def next_arrival(self) -> int | None:
        """When the next request arrives; None if it is here already or comes by the queue depth."""
        if self.horizon_reached() or not self.input or self.config.closed_loop:
            return None
        arrival_ns = self.input[0].arrival_ns
        return arrival_ns if arrival_ns > self.now else None
