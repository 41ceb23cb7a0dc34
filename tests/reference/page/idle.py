"""What the dies of the reference do in their idle times, and the rules of baselines for that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log2

from ..clock import Clock
from ..loop import Page, Steps, Work
from ..nand import Die
from .device import Device

#: More commands than any round has.
ALL = 10**9
#: The answers of whoever decides outside, by their number.
OUTSIDE = (0, 1, 2, 4, 8, 16, 32, ALL)


@dataclass
class Idle:
    """An idle time of a die."""

    since: int
    answers: int = 0
    commands: int = 0  # that it has still been given


class IdleRule:
    """The base of the rules; on its own it collects nothing."""

    def __init__(self, loop: BackgroundGc) -> None:
        self.loop = loop
        self.config = loop.config

    def choose(self, die: Die, idle: Idle) -> int:
        """How many commands; below 0: none, and ask again after so many ns."""
        return 0

    def resumed(self, gap: int) -> None:
        """Hear how long a die was idle that has work now."""

    def plane(self, die: Die) -> int | None:
        """What the die would collect, if that plane has few pages free."""
        limit = self.config.idle_blocks * self.config.pages_per_block
        return self.loop.plane_to_collect(die, limit)

    @property
    def move_ns(self) -> int:
        return sum(ns for _, ns in self.loop.commands.move(1))

    def needed_ns(self, plane: int) -> int:
        """What the next command takes, as far as it is known before a victim is."""
        if self.loop.device.leader_of(plane) is None:
            return max(self.move_ns, self.config.erase_ns)
        return self.move_ns if self.loop.device.moves_left(plane) else self.config.erase_ns


class Threshold(IdleRule):
    def choose(self, die: Die, idle: Idle) -> int:
        return 0 if self.plane(die) is None else ALL


class IdlePredict(IdleRule):
    PATIENCE = 2

    def choose(self, die: Die, idle: Idle) -> int:
        if self.plane(die) is None:
            return 0
        mean = self.loop.mean_gap.get(die.number, 0)
        left = self.PATIENCE * mean - (self.loop.now - idle.since)
        if left <= 0:
            return ALL
        moves = mean // max(self.move_ns, 1)
        return moves if idle.answers == 0 and moves else -left


class OracleGap(IdleRule):
    def choose(self, die: Die, idle: Idle) -> int:
        plane = self.plane(die)
        if plane is None or self.config.closed_loop:
            return 0
        gap = self.gap()
        return 1 if self.needed_ns(plane) <= gap else -(int(gap) + 1)

    def gap(self) -> float:
        if not self.loop.input or self.loop.horizon_reached():
            return 0 if self.is_in_admission() else inf
        if self.is_in_admission():
            return 0
        return max(self.loop.input[0].arrival_ns - self.loop.now, 0)

    def is_in_admission(self) -> bool:
        return bool(self.loop.input) and self.loop.input[0].admitted > 0


class IdleHazard(IdleRule):
    CLASSES, MOST, RISK = 96, 2000, 0.05

    def __init__(self, loop: BackgroundGc) -> None:
        super().__init__(loop)
        self.counts = [0.0] * self.CLASSES
        self.total = 0.0

    def choose(self, die: Die, idle: Idle) -> int:
        plane = self.plane(die)
        if plane is None:
            return 0
        so_far = self.loop.now - idle.since
        longer = self.ended_between(so_far, inf)
        if longer < 1:
            return ALL
        if self.ended_between(so_far, so_far + self.needed_ns(plane)) <= self.RISK * longer:
            return 1
        return -(max(int(self.start(self.class_of(so_far) + 1)) - so_far, 0) + 1)

    def resumed(self, gap: int) -> None:
        self.counts[self.class_of(gap)] += 1
        self.total += 1
        if self.total >= self.MOST:
            self.total /= 2
            self.counts = [count / 2 for count in self.counts]

    @property
    def unit(self) -> int:
        return max(self.move_ns // 16, 1)

    def class_of(self, gap: int) -> int:
        return min(int(4 * log2(1 + gap / self.unit)), self.CLASSES - 1)

    def start(self, number: int) -> float:
        return self.unit * (2 ** (number / 4) - 1)

    def ended_between(self, first: float, last: float) -> float:
        """How many idle times have ended so late, as if those of a class were spread evenly over it."""
        ended = 0.0
        for number, count in enumerate(self.counts):
            if not count:
                continue
            start, end = self.start(number), self.start(number + 1)
            ended += count * (max(min(last, end) - max(first, start), 0.0) / (end - start))
        return ended


class Scripted(IdleRule):
    """Whoever decides outside, with answers known beforehand."""

    answers: Iterator[int] = iter(())

    def choose(self, die: Die, idle: Idle) -> int:
        return OUTSIDE[next(self.answers)]


RULES: dict[str, type[IdleRule]] = {
    "blocking": IdleRule,
    "threshold": Threshold,
    "idle_predict": IdlePredict,
    "idle_hazard": IdleHazard,
    "oracle_gap": OracleGap,
    "outside": Scripted,
}


def idle_rule(loop: BackgroundGc) -> IdleRule | None:
    """The rule of the configuration; None where a share of free pages decides, or nothing does."""
    return None if loop.config.idle is None else RULES[loop.config.idle](loop)


class BackgroundGc(Clock):
    """Background collection, by a share of free pages or by a rule, and how long the dies have been idle."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.common: deque[Page] = deque()  # writes bound to no die yet, of late allocation
        self.idle_rule = idle_rule(self)
        self.idle: dict[int, Idle] = {}  # by die, from when it found nothing to do
        self.mean_gap: dict[int, int] = {}  # by die: the mean of its idle times

    def collect(self, die: Die, plane: int) -> Steps:
        """Start the next command of the round that runs in the plane, and a round if none is running."""
        raise NotImplementedError

    def background_gc(self, die: Die) -> Work:
        if self.idle_rule is not None:
            return (yield from self.idle_gc(die, self.idle_rule))
        limit = self.config.background_pages
        plane = None if limit is None else self.plane_to_collect(die, limit)
        if plane is not None:
            yield from self.collect(die, plane)
        return plane is not None

    def plane_to_collect(self, die: Die, limit: float) -> int | None:
        """The lowest plane with a running round, else the one under the limit with the fewest free pages."""
        planes = self.planes_of(die)
        running = [plane for plane in planes if self.device.leader_of(plane) is not None]
        wanting = [plane for plane in planes if self.device.wants_background_gc(plane, limit)]
        return next(iter(running), min(wanting, key=self.device.free_pages, default=None))

    def idle_gc(self, die: Die, rule: IdleRule) -> Work:
        """One command of what the rule gives the die."""
        idle = self.idle.setdefault(die.number, Idle(self.now))
        plane = self.plane_to_collect(die, inf)
        if plane is None:
            idle.commands = 0
            return False
        if idle.commands == 0:
            answer = rule.choose(die, idle)
            idle.answers += 1
            if answer < 0:
                self.timers[die.number] = self.now - answer
            idle.commands = max(answer, 0)
            if answer <= 0:
                return False
        device = self.device
        is_given_up = device.leader_of(plane) is None and not device.life.can_collect(plane)
        erases = device.counters["erases"]
        yield from self.collect(die, plane)
        if not is_given_up:
            # The round of a worn block may go on after an erase.
            is_erased = device.counters["erases"] > erases
            idle.commands = 0 if is_erased else idle.commands - 1
        return True

    def look_at(self, die: Die) -> None:
        """A die that is looked at has no timer, and with work of the host its idle time is over."""
        self.timers.pop(die.number, None)
        if die.number in self.idle and self.has_host_work(die):
            gap = self.now - self.idle.pop(die.number).since
            before = self.mean_gap.get(die.number, 0)
            self.mean_gap[die.number] = gap if before == 0 else before + (gap - before) // 8
            assert self.idle_rule is not None
            self.idle_rule.resumed(gap)

    def has_host_work(self, die: Die) -> bool:
        if self.config.allocation == "late":
            writes = bool(self.common) and any(map(self.device.has_room, self.planes_of(die)))
        else:
            writes = bool(die.writes)
        return bool(die.reads) or writes
