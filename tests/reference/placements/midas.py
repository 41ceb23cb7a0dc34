"""MiDAS (FAST 2024): a chain of groups behind a hot filter.

What it knows lies in the records of the real one, since both call the same function between two steps. What
happens to pages and blocks is written here anew, and who is in a group is found by looking at all blocks.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ssdgym.baselines.midas import records
from ssdgym.baselines.midas.epochs import period
from ssdgym.baselines.midas.records import BINS, STREAMS, TAIL, WINDOWS

from .base import Placement

HOT, G1 = 0, 1
FULL = 3
MOST_VICTIMS = 25


def zeros(fields: Any, count: int) -> Any:
    """Records of these fields, or of whole numbers of these names."""
    named = [(field, "i8") if isinstance(field, str) else field for field in fields]
    return np.zeros(count, np.dtype(named)).view(np.recarray)


class Midas(Placement):
    """The groups are the hot one, G1 .. G(last - 1), and those from `last` to `top`."""

    def begin(self) -> None:
        config = self.device.config
        self.pages = zeros(records.PAGE, config.logical_pages)
        self.blocks = zeros(records.BLOCK, config.planes * config.blocks_per_plane)
        self.groups = zeros(records.STREAM, config.planes * STREAMS)
        self.memories = zeros(records.MEMORY, 1)
        self.memory = self.memories[0]
        self.due = 0
        self.rounds: dict[int, list[int]] = {plane: [] for plane in range(config.planes)}  # victims
        self.targets = dict.fromkeys(range(config.planes), 0)  # of these
        self.victims_in_gc = dict.fromkeys(range(config.planes), 0)

    # Between two steps

    def between_steps(self) -> None:
        if self.clock >= self.due:
            self.due = self.clock + period(self.view(), SimpleNamespace(**self.parameters))

    def view(self) -> SimpleNamespace:
        """What `period` sees of a device: the records of the engine, made from the reference."""
        device, c = self.device, self.device.config
        unit = 1 if c.threshold_blocks is None else c.pages_per_block
        params = zeros(
            (
                *("planes", "blocks", "pages_per_block", "logical_pages"),
                *("low_free", "stop_free", "low_pool", "stop_pool"),
            ),
            1,
        )
        params.planes, params.blocks = c.planes, c.blocks_per_plane
        params.pages_per_block, params.logical_pages = c.pages_per_block, c.logical_pages
        params.low_pool = max(c.threshold * unit, c.floor * c.pages_per_block)
        params.stop_pool = c.threshold * unit if c.gc_mode == "barrier" else 0
        control = zeros(("clock",), 1)
        control.clock = device.clock
        plane = zeros(("valid",), c.planes)
        plane.valid = [sum(map(device.valid_in_block, device.blocks_of_plane(p))) for p in range(c.planes)]
        block = zeros(("status", "stream", "invalid"), len(self.blocks))
        opened = {place.block: stream for (_, stream), place in device.open.items()}
        for b in range(len(block)):
            status = (b in opened) + 2 * device.is_indexed(b)
            block[b] = (status, opened.get(b, 0), device.invalid_in_block(b))
        return SimpleNamespace(
            params=params,
            control=control,
            plane=plane,
            block=block,
            page_memory=self.pages,
            block_memory=self.blocks,
            stream_memory=self.groups,
            memory=self.memories,
        )

    # Groups

    def members(self, plane: int, group: int) -> list[int]:
        """The closed blocks of a group, oldest first."""
        listed = [
            block
            for block in self.device.blocks_of_plane(plane)
            if self.blocks[block].listed and self.blocks[block].group == group
        ]
        return sorted(listed, key=lambda block: int(self.blocks[block].serial))

    def fold(self, first: int) -> None:
        """That group and all behind it become one, with a tail."""
        for block in self.blocks:
            if block.listed:
                block.group = min(block.group, first)
        self.memory.last, self.memory.top = first, first + TAIL
        if first == G1:
            self.memory.configured = 0

    def is_stuck(self, plane: int, group: int) -> bool:
        """A victim is of a group that is not too large, since the last one has none to offer."""
        m = self.memory
        if group >= m.last or len(self.members(plane, group)) > m.limit[group]:
            return False
        last = [block for number in range(m.last, m.top + 1) for block in self.members(plane, number)]
        return not any(map(self.device.invalid_in_block, last))

    def keep_up(self, plane: int, group: int, victims: int = 1) -> None:
        """Fold where GC of the plane does not come to an end."""
        if not self.device.foreground[plane]:
            return
        self.victims_in_gc[plane] += victims
        if self.victims_in_gc[plane] >= MOST_VICTIMS:
            self.victims_in_gc[plane] = 0
            if self.memory.last > G1:
                first = max(min(group, int(self.memory.last) - 1), G1)
                self.memory.irregular |= 2 * first <= self.memory.configured + 1
                self.fold(first)

    def pass_on(self, plane: int) -> None:
        """What is over a group's size and has nothing invalid joins the next group as its newest block."""
        group = HOT
        while G1 < self.memory.last > group:
            members = self.members(plane, group)
            if len(members) <= self.memory.limit[group]:
                group += 1
            elif self.device.invalid_in_block(members[0]):
                return
            else:
                self.memory.serial += 1
                self.blocks[members[0]].group = group + 1
                self.blocks[members[0]].serial = self.memory.serial
                self.watch(group, 1.0)
                self.keep_up(plane, group)

    # The hot filter

    @property
    def is_asleep(self) -> bool:
        return bool(self.memory.ignored < self.device.config.logical_pages)

    def heat_after_overwrite(self, lpn: int, old: int, clock: int) -> int:
        block = self.device.block_of_page(old)
        heat, group = int(self.pages[lpn].heat), self.blocks[block].group
        age = 0 if self.device.free_in_block(block) else clock - self.device.closed_at[block]
        if group == HOT or (group == G1 and age <= self.memory.tau):
            return min(heat + 1, FULL)
        return max(heat - 1, 0) if group == G1 else heat

    def end_window(self) -> None:
        m = self.memory
        if m.overwrites < m.tau or not m.hot_victims:
            return
        if m.hot_pages:
            k = m.windows % WINDOWS
            sealed = sum(len(self.members(plane, HOT)) for plane in range(self.device.config.planes))
            m.window_traffic[k] = m.hot_pages / m.host_pages
            m.window_valid[k] = m.hot_valid / m.hot_victims
            m.window_blocks[k] = sealed
            m.windows += 1
        mean = m.hot_ages / m.hot_victims
        m.tau = 1.5 * m.tau if mean >= 2 * m.tau else (mean + m.tau) / 2
        m.overwrites = m.host_pages = m.hot_pages = m.hot_victims = 0
        m.hot_ages = m.hot_valid = 0.0

    # Intervals

    def count_interval(self, lpn: int) -> None:
        m, stamp = self.memory, int(self.pages[lpn].stamp)
        if m.unit == 0 or stamp == 0:
            return
        now, bins = self.clock - int(m.epoch_start), int(m.epoch_pages) // int(m.unit)
        k = min((now - abs(stamp)) // int(m.unit), bins - 1)
        self.blocks[k // BINS].intervals[k % BINS] += 1

    # Asked

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        heat = self.pages[lpn].heat
        if self.device.is_mapped(lpn) and not self.is_asleep:
            heat = self.heat_after_overwrite(lpn, self.device.logical[lpn].ppn, self.clock)
        return HOT if heat == FULL else G1

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        plane, top = self.device.plane_of_page(source), int(self.memory.top)
        if self.targets[plane] < top:
            return self.targets[plane]
        left_open = [stream for stream in range(top + 1, STREAMS) if (plane, stream) in self.device.open]
        return left_open[0] if left_open else top

    # Told

    def written(self, lpn: int, old: int, new: int) -> None:
        m = self.memory
        self.victims_in_gc[self.device.plane_of_page(new)] = 0
        if not self.is_asleep:
            m.host_pages += 1
            m.hot_pages += self.blocks[self.device.block_of_page(new)].group == HOT
            if old >= 0:
                self.pages[lpn].heat = self.heat_after_overwrite(lpn, old, self.clock - 1)
                m.overwrites += 1
                self.end_window()
        elif old >= 0:
            m.ignored += 1
        self.count_interval(lpn)
        if m.unit:
            now = self.clock - m.epoch_start
            self.pages[lpn].stamp = -now if self.pages[lpn].stamp else now

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.memory.moved += 1
        group = self.blocks[self.device.block_of_page(old)].group
        if group > G1:
            return
        if self.is_asleep:
            self.memory.ignored += 1
        else:
            self.pages[lpn].heat = max(int(self.pages[lpn].heat) - (2 if group == HOT else 1), 0)

    def trimmed(self, lpn: int, old: int) -> None:
        self.count_interval(lpn)
        self.pages[lpn].stamp = self.pages[lpn].heat = 0

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.blocks[block].group = min(stream, self.memory.top)

    def closed(self, block: int) -> None:
        self.memory.serial += 1
        self.blocks[block].group = min(self.streams[block], self.memory.top)
        self.blocks[block].serial = self.memory.serial
        self.blocks[block].listed = 1

    def collected(self, block: int) -> None:
        device, m, record = self.device, self.memory, self.blocks[block]
        plane = device.plane_of_block(block)
        self.pass_on(plane)
        if self.is_stuck(plane, int(record.group)):
            self.keep_up(plane, int(self.memory.last), MOST_VICTIMS)
        else:
            self.keep_up(plane, int(record.group))
        group = min(int(record.group), int(m.top))
        if not self.rounds[plane]:
            self.targets[plane] = min(group + 1, int(m.top))
        self.rounds[plane].append(block)
        record.listed = 0
        valid = device.valid_in_block(block) / device.config.pages_per_block
        if group == HOT and not self.is_asleep:
            m.hot_victims += 1
            m.hot_ages += self.clock - device.closed_at[block]
            m.hot_valid += valid
            self.end_window()
        self.watch(min(group, int(m.last)), valid)

    def watch(self, group: int, valid: float) -> None:
        """Once every group has had a victim since the change, their valid shares are summed anew."""
        m = self.memory
        m.victims[group] += 1
        m.valid[group] += valid
        m.seen |= 1 << group
        all_seen = all(m.seen >> number & 1 for number in range(int(m.last) + 1))
        if m.configured and not m.watched_since and all_seen:
            m.watched_since = self.clock
            m.victims[:], m.valid[:] = 0, 0

    def erased(self, block: int) -> None:
        self.rounds[self.device.plane_of_block(block)].remove(block)
