"""td_lifetime: remaining lives of pages, learned by temporal differences, and streams planned from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from math import inf, log2, sqrt

import numpy as np

from .base import Placement

STREAMS, CLASSES, LAG = 8, 24, 4
LEAST, START, MOST = -6.0, 1.0, 3.5
#: Pairs of features: age, interval, writes, writes of the neighbours.
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
SLOW, FADE = 0.0005, 0.6

State = tuple[int, int, int, int]


def single(value: float) -> float:
    """As a number of 32 bits keeps it."""
    return float(np.float32(value))


@dataclass
class Copy:
    """The present copy of a page."""

    tick: int
    state: State
    value: float
    relocated: bool

    @property
    def label(self) -> tuple[bool, int]:
        return self.relocated, int((self.value - LEAST) * 2.5)


class TdLifetime(Placement):
    """Learns a life when it ends, and when its page is relocated."""

    def begin(self) -> None:
        config = self.device.config
        self.space = config.logical_pages
        self.tick_pages = max(self.space // 65536, 1)
        self.floor = max(config.threshold_blocks or 0, config.floor) * config.pages_per_block
        self.rate = self.parameters.get("rate", 0.01)
        self.written_at: dict[int, int] = {}  # tick, as all times
        self.interval: dict[int, int] = {}
        self.writes: dict[int, float] = {}
        self.near: defaultdict[int, float] = defaultdict(float)  # of 16 pages
        self.neared: defaultdict[int, int] = defaultdict(int)
        self.copies: dict[int, Copy] = {}
        self.weights: defaultdict[tuple[bool, int, int, int], float] = defaultdict(float)
        self.visits: Counter[tuple[bool, int, int, int]] = Counter()
        self.deaths: defaultdict[tuple[bool, int], float] = defaultdict(float)
        self.exposed: defaultdict[tuple[bool, int], float] = defaultdict(float)
        self.bounds: list[int] | None = None  # before the first plan
        self.apart = False
        self.planned_at = 0
        self.errors = [0.0] * LAG
        self.ended = 0
        self.mean = self.covariance = self.variance = 0.0

    # Values

    def pages(self, ticks: int) -> float:
        return float(ticks) * self.tick_pages

    def value_of(self, pages: float) -> float:
        return log2(10.0 * max(pages, 1.0) / self.space) / 2.0

    def step(self, pages: float) -> int:
        return int(min(max((self.value_of(pages) - LEAST) * 1.5, 0.0), 14.0))

    def step_of_count(self, count: float) -> int:
        return int(min(2.0 * log2(1.0 + count), 15.0))

    def state(self, lpn: int, clock: int) -> State:
        now, group = clock // self.tick_pages, lpn // 16
        age, writes = 15, 0
        if lpn in self.written_at:
            since = self.pages(now - self.written_at[lpn]) + 1.0
            age = self.step(since)
            writes = self.step_of_count(self.writes[lpn] / (1.0 + since / (8.0 * self.space)))
        interval = self.step(self.pages(self.interval[lpn])) if lpn in self.interval else 15
        quiet = self.pages(now - self.neared[group])
        near = self.step_of_count(self.near[group] / (1.0 + quiet / self.space) * 4.0 / 16)
        return age, interval, writes, near

    def keys(self, state: State, relocated: bool) -> list[tuple[bool, int, int, int]]:
        return [(relocated, table, state[i], state[j]) for table, (i, j) in enumerate(PAIRS)]

    def value(self, state: State, relocated: bool) -> float:
        total = START
        for key in self.keys(state, relocated):
            total += self.weights[key]
        return min(max(total, LEAST), MOST)

    # Asked

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.stream_of(plane, lpn, False)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.stream_of(self.device.plane_of_page(source), lpn, True)

    def stream_of(self, plane: int, lpn: int, relocated: bool) -> int:
        value = self.value(self.state(lpn, self.clock), relocated)
        if self.bounds is None:
            return int(min(max(value + 2.5, 0.0), 5.0))
        label = int((value - LEAST) * 2.5) + (CLASSES if relocated and self.apart else 0)
        stream = sum(label >= bound for bound in self.bounds)
        if stream == len(self.bounds):
            left_over = [s for s in range(stream + 1, STREAMS) if (plane, s) in self.device.open]
            return left_over[0] if left_over else stream
        return stream

    # Told

    def written(self, lpn: int, old: int, new: int) -> None:
        clock = self.clock - 1
        if old >= 0:
            self.end(lpn, clock)
        if not self.is_alive(lpn, new):
            return
        self.place(lpn, self.state(lpn, clock), False, clock)
        self.count(lpn, clock)
        if 10 * (clock - self.planned_at) > self.space and self.parameters.get("planned", 1):
            self.planned_at = clock
            self.plan()

    def relocated(self, lpn: int, old: int, new: int) -> None:
        state = self.state(lpn, self.clock)
        if lpn in self.copies and self.parameters.get("bootstrap", 1):
            expected = self.space / 10.0 * 4.0 ** self.value(state, True)
            self.learn(lpn, min(self.value_of(self.lived(lpn, self.clock) + expected), MOST))
        self.place(lpn, state, True, self.clock)

    def trimmed(self, lpn: int, old: int) -> None:
        self.end(lpn, self.clock)

    # Learning

    def lived(self, lpn: int, clock: int) -> float:
        return self.pages(clock // self.tick_pages - self.copies[lpn].tick) + 1.0

    def place(self, lpn: int, state: State, relocated: bool, clock: int) -> None:
        value = self.value(state, relocated)
        self.copies[lpn] = Copy(clock // self.tick_pages, state, value, relocated)

    def count(self, lpn: int, clock: int) -> None:
        now, group = clock // self.tick_pages, lpn // 16
        writes = 0.0
        if lpn in self.written_at:
            since = self.pages(now - self.written_at[lpn]) + 1.0
            self.interval[lpn] = max(now - self.written_at[lpn], 1)
            writes = single(self.writes[lpn] / (1.0 + since / (8.0 * self.space)))
        self.writes[lpn] = single(writes + 1.0)
        self.written_at[lpn] = now
        quiet = self.pages(now - self.neared[group])
        self.near[group] = single(self.near[group] / (1.0 + quiet / self.space) + 1.0)
        self.neared[group] = now

    def learn(self, lpn: int, target: float) -> float:
        copy = self.copies[lpn]
        error = target - self.value(copy.state, copy.relocated)
        for key in self.keys(copy.state, copy.relocated):
            self.visits[key] += 1
            step = max(self.rate, 1.0 / sqrt(self.visits[key]))
            self.weights[key] = single(self.weights[key] + step * error / len(PAIRS))
        return error

    def end(self, lpn: int, clock: int) -> None:
        if lpn not in self.copies:
            return
        self.compare(self.learn(lpn, self.value_of(self.lived(lpn, clock))))
        self.deaths[self.copies.pop(lpn).label] += 1.0

    def compare(self, error: float) -> None:
        """With the error of the fourth life that ended before."""
        self.mean += (error - self.mean) * SLOW
        rest = error - self.mean
        self.covariance += (rest * self.errors[-LAG] - self.covariance) * SLOW
        self.variance += (rest * rest - self.variance) * SLOW
        self.errors = [*self.errors[1:], rest]

    # Planning

    def plan(self) -> None:
        config = self.device.config
        valid = Counter(copy.label for copy in self.copies.values())
        for kind in (False, True):
            for label in range(CLASSES):
                self.exposed[kind, label] = self.exposed[kind, label] * FADE + valid[kind, label]
        pages = config.planes * (config.blocks_per_plane * config.pages_per_block - self.floor)
        room = float(pages - len(self.copies))
        self.apart = self.covariance > self.parameters.get("apart", 0.05) * self.variance
        costs = self.least_costs()
        half_blocks = 0.5 * config.planes * config.pages_per_block
        by_streams = [
            (cost**2 / max(room - n * half_blocks, 1.0), n) for n, (cost, _) in enumerate(costs, start=1)
        ]
        _, streams = min(by_streams)
        self.bounds = costs[streams - 1][1]
        if streams == 1:  # all lives are alike: one stream for what the host writes, one for what is moved
            self.apart, self.bounds = True, [CLASSES]
        for label in self.deaths:
            self.deaths[label] *= FADE

    def least_costs(self) -> list[tuple[float, list[int]]]:
        """For 1, 2, .. streams: the least sum of roots, and where all but the first of them begin."""
        classes = 2 * CLASSES if self.apart else CLASSES
        roots = self.roots(classes)

        @cache
        def least(streams: int, end: int) -> tuple[float, list[int]]:
            if streams == 0:
                return (0.0 if end == 0 else inf), []
            found: tuple[float, list[int]] = (inf, [])
            for first in range(end):
                cost, begins = least(streams - 1, first)
                if (first, end) in roots and cost + roots[first, end] < found[0]:
                    found = cost + roots[first, end], [*begins, first]
            return found

        return [(cost, begins[1:]) for cost, begins in (least(n, classes) for n in range(1, STREAMS + 1))]

    def roots(self, classes: int) -> dict[tuple[int, int], float]:
        """Of pages times deaths, of all runs of classes that a stream may have."""
        found = {}
        for first in range(classes):
            pages = deaths = 0.0
            for last in range(first, classes):
                if self.apart and first < CLASSES <= last:
                    break
                kinds = [last >= CLASSES] if self.apart else [False, True]
                for kind in kinds:
                    pages += self.exposed[kind, last % CLASSES]
                    deaths += self.deaths[kind, last % CLASSES]
                found[first, last + 1] = sqrt(pages * deaths)
        return found
