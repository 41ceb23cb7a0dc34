"""The clock of the reference: what becomes ready, is dispatched or happens next, whatever is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .collecting import Collecting
from .loop import FLUSH, READ, WRITE, Loop, Request, Steps, Transaction, Work
from .nand import Command, Commands, Die, Event, Nand, Phases


class Clock(Loop):
    """The order of steps; a family says what is admitted and what a die looks for."""

    def __init__(self, device: Collecting) -> None:
        super().__init__(device)
        self.commands = Commands(self.config)
        self.nand = Nand(self.config)
        self.ready: deque[Die] = deque()
        self.in_flight: list[Any] = []  # the window
        self.outstanding: list[Request] = []
        self.started = 0  # requests
        self.timers: dict[int, int] = {}  # by die: when it is asked again
        self.classes: list[Callable[[Die], Work]] = []  # of work, in the order a die looks for it

    def admit(self) -> Steps:
        """Carry out one step of admission."""
        raise NotImplementedError

    def places_are_free(self) -> bool:
        """Whether the window has room for what is admitted next."""
        raise NotImplementedError

    def flush_must_wait(self) -> bool:
        raise NotImplementedError

    def ended(self, pages: list[Any]) -> None:
        """Follow the end of a command that carried these pages."""
        raise NotImplementedError

    def die_to_offer(self) -> Die | None:
        """The idle die, from the cursor on, that could take what waits bound to none."""
        return None

    def look_at(self, die: Die) -> None:
        """Note that the die looks for work."""

    def reset_input(self) -> None:
        super().reset_input()
        self.outstanding.clear()

    def steps(self, last: bool) -> Steps:
        while True:
            self.check_life()
            self.between_steps()
            if self.horizon_reached() or (last and not self.input):
                if not self.in_flight:
                    return
            elif not self.input:
                return
            yield from self.step()

    def step(self) -> Steps:
        if self.input and self.input[0].begun and self.can_admit():
            yield from self.admit()  # the pages of a request come together
        elif self.ready:
            # The die stays at the head while it looks for work, so that it cannot join a second time.
            yield from self.dispatch(self.ready[0])
            self.ready.popleft()
        elif (die := self.die_to_offer()) is not None:
            self.die_cursor = (die.number + 1) % self.config.dies
            self.make_ready(die)
        elif self.can_admit():
            yield from self.admit()
        else:
            self.advance()

    def can_admit(self) -> bool:
        if self.horizon_reached() or not self.input or not self.places_are_free():
            return False
        request = self.input[0]
        if request.begun:
            return True
        if request.op == FLUSH and self.flush_must_wait():
            return False
        if self.config.closed_loop:
            return request.op == FLUSH or len(self.outstanding) < self.config.queue_depth
        return request.arrival_ns <= self.now

    def begin_request(self, request: Request) -> None:
        if request.begun:
            return
        super().begin_request(request)
        self.started += 1
        self.outstanding.append(request)
        if self.config.closed_loop:
            request.arrival_ns = self.now

    def part_done(self, request: Request, count: int, transaction: Transaction | None) -> None:
        """Follow the end of so many pages of the request, and of a command of the transaction if any."""
        if transaction is not None:
            self.waits.note_ended(request.serial, transaction, self.now)
        request.done += count
        if request.done < request.pages:
            return
        self.outstanding.remove(request)
        if request.op in (READ, WRITE):
            self.latencies[request.serial] = self.now - request.arrival_ns
            self.waits.note_completed(request.serial, request.op)

    # Dies

    def dispatch(self, die: Die) -> Steps:
        """Every class returns whether it did something, after which a die still idle looks again."""
        did_something = True
        while die.command is None and did_something:
            self.look_at(die)
            for work in self.classes:
                did_something = yield from work(die)
                if did_something:
                    break

    def planes_of(self, die: Die) -> list[int]:
        return self.device.planes_of_die(die.number)

    def die_of_plane(self, plane: int) -> Die:
        return self.nand.dies[self.device.die_of_plane(plane)]

    def make_ready(self, die: Die) -> None:
        if die.command is None and die not in self.ready:
            self.ready.append(die)

    def charge(self, die: Die, phases: Phases) -> None:
        nominal_ns = sum(ns for _, ns in phases)
        self.est[die.number] = max(self.est[die.number], self.now) + nominal_ns

    def note_queued(self, transaction: Transaction, die: Die | None) -> None:
        transaction.die = None if die is None else die.number
        transaction.queued, transaction.started = self.now, None

    def queue_write_to(self, die: Die, transaction: Any) -> None:
        die.writes.append(transaction)
        self.note_queued(transaction, die)
        self.charge(die, self.commands.write(1))
        self.make_ready(die)

    def start(self, die: Die, phases: Phases, pages: list[Any], is_done_early: bool = False) -> None:
        """Start a command of the host."""
        for page in pages:
            page.started = self.now
        self.nand.start(die, Command(phases, pages, is_done_early), self.now)

    def start_gc(self, die: Die, phases: Phases, pages: list[Any] | None = None) -> None:
        """Start a command that nobody has queued."""
        self.charge(die, phases)
        self.nand.start(die, Command(list(phases), pages or [], is_gc=True), self.now)

    # Time

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
        elif finished := self.nand.take(event):
            self.finish(*finished)

    def finish(self, die: Die, command: Command) -> None:
        """Follow the end of a command, or of what its pages wait for."""
        if die.command is None:
            self.make_ready(die)
            if command.is_gc:
                self.waits.note_collected(die.number, command.started, self.now)
        done, command.pages = command.pages, []
        self.ended(done)

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
