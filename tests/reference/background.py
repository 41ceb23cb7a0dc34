"""What the dies of the reference do in their idle times."""

from __future__ import annotations

from collections import deque
from math import inf

from .clock import Clock
from .device import Device
from .idle import Idle, IdleRule, idle_rule
from .loop import Page, Steps, Work
from .nand import Die


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
            rule.answered(answer)
            if answer < 0:
                self.timers[die.number] = self.now - answer
            idle.commands = max(answer, 0)
            if answer <= 0:
                return False
        yield from self.collect(die, plane)
        is_erased = self.device.leader_of(plane) is None
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
