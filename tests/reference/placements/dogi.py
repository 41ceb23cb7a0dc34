"""DOGI (FAST 2026): groups of pages of like expected life.

What it knows lies in the records of the real one, since both call the same function between two steps. What
happens to pages and blocks, and what the classifier computes, is written here anew.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ssdgym.baselines.dogi import records
from ssdgym.baselines.dogi.periods import period

from .base import Placement
from .views import view_of, zeros

HOT, FROZEN = 0, 7
UNKNOWN = 255
F = np.float32


class Dogi(Placement):
    """The groups are the hot one, G1 .. G(top), and the frozen one."""

    def begin(self) -> None:
        config = self.device.config
        self.pages = zeros(records.PAGE, config.logical_pages)
        self.blocks = zeros(records.BLOCK, config.planes * config.blocks_per_plane)
        self.memories = zeros(records.MEMORY, 1)
        self.memory = self.memories[0]
        self.due = 0
        self.unit = 4 * config.pages_per_block
        self.chunk = max(512, config.pages_per_block)

    # Between two steps

    def between_steps(self) -> None:
        if self.clock >= self.due:
            view = view_of(self.device, self.pages, self.blocks, None, self.memories)
            self.due = self.clock + period(view, SimpleNamespace(**self.parameters))

    # What is known of a page

    def interval(self, lpn: int, ppn: int, clock: int) -> int:
        """Whole units in every block that it has been in, from when that was full."""
        if ppn < 0:
            return UNKNOWN
        sealed_at = int(self.blocks[self.device.block_of_page(ppn)].sealed_at) - 1
        age = clock - sealed_at if 0 <= sealed_at < clock else 0
        return min(int(self.pages[lpn].interval) + age // self.unit, UNKNOWN)

    def is_hot(self, interval: int) -> bool:
        return bool(interval * self.unit < self.memory.mu)

    def features(self, lpn: int, interval: int) -> list[F]:
        windows = int(self.pages[lpn].windows)
        chunk = int(self.blocks[lpn // self.chunk].chunk_writes)
        values = [lpn, int(self.memory.previous), interval, windows, windows.bit_count(), chunk]
        return [F(value) for value in values]

    def category(self, lpn: int, interval: int) -> int:
        """0 where pages have none."""
        m = self.memory
        if not m.configured:
            return 0
        values = np.array(self.features(lpn, interval))
        values = (values - m.means) * m.scales
        rest = m.weights
        for outputs in (32, 32, 10):
            weights, sums, rest = np.split(rest, [len(values) * outputs, (len(values) + 1) * outputs])
            for value, row in zip(values, weights.reshape(-1, outputs), strict=True):
                sums = sums + value * row
            values = np.where(sums < 0, F(0), sums) if len(rest) else sums
        return int(np.argmax(values)) + 1

    def group_of_block(self, block: int) -> int:
        stream = self.streams[block]
        return stream if stream == FROZEN else min(stream, int(self.memory.top))

    def way(self, plane: int, group: int) -> int:
        """The coldest group fills up what groups that are gone left open."""
        if group == self.memory.top:
            left = [s for s in range(group + 1, FROZEN) if (plane, s) in self.device.open]
            return left[0] if left else group
        return group

    # Asked

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        interval = self.interval(lpn, self.device.logical[lpn].ppn, self.clock)
        if self.is_hot(interval):
            return HOT
        return self.way(plane, int(self.memory.group[self.category(lpn, interval)]))

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        m, page = self.memory, self.pages[lpn]
        if not page.overwritten:
            return FROZEN
        block = self.device.block_of_page(source)
        target = int(m.target[page.category]) or min(self.group_of_block(block) + 1, int(m.top))
        return self.way(self.device.plane_of_page(source), target)

    # Told

    def written(self, lpn: int, old: int, new: int) -> None:
        if not self.is_alive(lpn, new):
            return
        m, page, now = self.memory, self.pages[lpn], self.clock - 1
        if page.sample:
            m.lives[page.sample - 1] = now - m.taken_at[page.sample - 1]
            page.sample = 0
        m.host_pages += 1
        m.hot_pages += self.stream_of_page(new) == HOT
        interval = self.interval(lpn, old, now)
        page.category = 0
        if not self.is_hot(interval):
            page.category = self.category(lpn, interval)
            self.sample(lpn, interval, now)
        page.interval = 0
        page.windows |= 1 << 7
        page.overwritten |= old >= 0
        self.blocks[lpn // self.chunk].chunk_writes += 1
        m.previous = lpn

    def sample(self, lpn: int, interval: int, now: int) -> None:
        m = self.memory
        if m.samples < len(m.lives) and now in range(int(m.sampled_from), int(m.sampled_until)):
            m.passed += 1
            if m.passed == m.spacing:
                m.passed = 0
                m.features[m.samples] = self.features(lpn, interval)
                m.taken_at[m.samples], m.lives[m.samples] = now, 0
                m.samples += 1
                self.pages[lpn].sample = m.samples

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.pages[lpn].interval = self.interval(lpn, old, self.clock)
        self.pages[lpn].category = 0
        self.memory.moved += 1

    def trimmed(self, lpn: int, old: int) -> None:
        self.pages[lpn] = np.zeros(1, self.pages.dtype)[0]

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.blocks[block].opened_at, self.blocks[block].sealed_at = self.clock, 0

    def closed(self, block: int) -> None:
        self.blocks[block].sealed_at = self.clock + 1

    def collected(self, block: int) -> None:
        if self.streams[block] == HOT:
            self.memory.hot_victims += 1
            self.memory.hot_valid += self.device.valid_in_block(block)
