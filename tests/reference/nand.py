"""Dies and channels of the reference in time: which phase of which command ends when."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from .config import ReferenceConfig
from .loop import Page

#: Of a command: each (needs the channel, ns).
Phases = list[tuple[bool, int]]
#: (ns, 0 for a channel and 1 for a die, its number): in this order events are taken.
Event = tuple[int, int, int]


@dataclass(eq=False)
class Command:
    """What a die is doing: the phases still to come, and the host's pages."""

    phases: Phases
    pages: list[Page]
    is_done_early: bool = False  # its pages are, when they have crossed the channel
    is_gc: bool = False
    started: int = 0


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


class Commands:
    """What the flash commands of each kind take, of so many pages."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config

    def read(self, pages: int = 1) -> Phases:
        return [(False, self.config.read_ns), (True, pages * self.config.transfer_ns)]

    def write(self, pages: int) -> Phases:
        return [(True, pages * self.config.transfer_ns), (False, self.config.program_ns)]

    def move(self, pages: int) -> Phases:
        c = self.config
        if c.copyback:
            return [(False, c.read_ns + c.program_ns)]
        return [(False, c.read_ns), (True, 2 * pages * c.transfer_ns), (False, c.program_ns)]

    def erase(self) -> Phases:
        return [(False, self.config.erase_ns)]


class Nand:
    """Each resource has at most one event to come."""

    def __init__(self, config: ReferenceConfig) -> None:
        self.dies = [Die(number) for number in range(config.dies)]
        self.channels = [Channel() for _ in range(config.channels)]
        self.channel_events: dict[int, int] = {}  # channel -> when it serves the next waiting die
        self.die_events: dict[int, int] = {}  # die -> when its phase ends

    def start(self, die: Die, command: Command, now: int) -> None:
        assert die.command is None
        command.started = now
        die.command = command
        self._next_phase(die, command, now)

    def next_event(self) -> Event | None:
        events = [(time, 0, number) for number, time in self.channel_events.items()]
        events += [(time, 1, number) for number, time in self.die_events.items()]
        return min(events, default=None)

    def take(self, event: Event) -> tuple[Die, Command] | None:
        """Returns the die and its command if that has ended, or its pages have; the die is idle if it has."""
        now, kind, number = event
        if kind == 0:
            del self.channel_events[number]
            self._serve_next(number, now)
            return None
        del self.die_events[number]
        die = self.dies[number]
        command = die.command
        assert command is not None
        if command.phases:
            self._next_phase(die, command, now)
            return (die, command) if command.is_done_early else None
        die.command = None
        return die, command

    def _next_phase(self, die: Die, command: Command, now: int) -> None:
        needs_channel, ns = command.phases.pop(0)
        if needs_channel:
            self._ask_channel(die, ns, now)
        else:
            self.die_events[die.number] = now + ns

    def _ask_channel(self, die: Die, ns: int, now: int) -> None:
        number = die.number % len(self.channels)
        channel = self.channels[number]
        if channel.free_at <= now and not channel.waiting:
            self._grant(channel, die, ns, now)
        else:
            channel.waiting.append((die, ns))
            self.channel_events[number] = channel.free_at

    def _grant(self, channel: Channel, die: Die, ns: int, now: int) -> None:
        """The transfer and a program behind it end in one event, unless pages are done early."""
        channel.free_at = now + ns
        assert die.command is not None
        ends_alone = die.command.is_done_early or not die.command.phases
        array_ns = 0 if ends_alone else die.command.phases.pop(0)[1]
        self.die_events[die.number] = channel.free_at + array_ns

    def _serve_next(self, number: int, now: int) -> None:
        channel = self.channels[number]
        die, ns = channel.waiting.popleft()
        self._grant(channel, die, ns, now)
        if channel.waiting:
            self.channel_events[number] = channel.free_at
