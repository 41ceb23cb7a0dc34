"""The sub-page reference without time, and what takes no time in either clock."""

from __future__ import annotations

from collections import deque

from ..lifetime import EndOfLife
from ..loop import Request, Steps
from .admission import Admission
from .device import SubpageDevice
from .flash import Region
from .jobs import Job
from .rules import ADVANCE, READY, Asked


class AtOnce(Admission):
    #: Planes whose foreground GC is on since the device ran in time, while days pass.
    on_in_time: frozenset[int] = frozenset()

    def collect(self, plane: int) -> Steps:
        """Collect in the plane's main area until the goal is reached."""
        device = self.device
        while device.foreground[plane]:
            if device.leader_of(plane) is None and not device.life.can_collect(plane):
                device.life.give_up(plane)
            else:
                if device.leader_of(plane) is None:
                    device.start_round(plane, (yield plane))
                device.finish_round(plane)
            if not device.foreground[plane]:
                self.on_in_time -= {plane}
            self.check_life()

    def collect_first(self) -> Steps:
        """Collect where the next page of the main area would go, as long as that has to be."""
        while self.device.life.is_short(plane := self.plane_to_write()):
            self.device.foreground[plane] = True
            self.counters["gc_episodes"] += 1
            yield from self.collect(plane)

    def plane_to_write(self) -> int:
        plane = self.device.plane_with_room(self.die_to_bind())
        return self.device.emptiest_plane() if plane is None else plane

    def carry_out(self, job: Job) -> Steps:
        """Carry the job out whole, with what it needs before and the collection it calls for."""
        yield from self._carry_to_region(job) if job.to_region else self._carry_to_main(job)

    def _carry_to_main(self, job: Job) -> Steps:
        yield from self.collect_first()
        if not self.device.begin(job):
            assert self.config.capacity == "variant", "without time nothing overtakes a job"
            return
        for read in job.reads:
            self.counters["rmw_reads"] += 1
            self.device.read_page(read)
        plane, die = self.plane_to_write(), self.bind_die()
        if self.device.die_of_plane(plane) == die:
            self.device.advance_plane_cursor(plane)
        self.device.life.ensure_page(plane)
        self.device.program_job(job, plane)
        if self.device.needs_gc(plane):  # a plane may be collecting since a run in time, and need it no more
            yield from self.collect(plane)

    def _carry_to_region(self, job: Job) -> Steps:
        region = None
        while True:
            yield from self.collect_first()
            if not self.device.begin(job):
                assert self.config.capacity == "variant", "without time nothing overtakes a job"
                return
            region = region or self.bind_region()
            if (found := self.device.prepare(region)) == READY:
                break
            if found == ADVANCE:
                self.device.advance_subpage(region)
            else:
                yield from self._go_on_collecting(region)
        self.device.program_in_region(job, region)

    def bind_region(self) -> Region:
        """The region of the plane at the cursor of the die that is free first; both cursors pass."""
        plane = self.device.planes_from_cursor(self.bind_die())[0]
        self.device.advance_plane_cursor(plane)
        return self.device.regions[plane]

    def _go_on_collecting(self, region: Region) -> Steps:
        slot = self.device.next_to_collect(region)
        if slot is None:
            self.device.erase_victim(region)
            self.check_life()
            if self.device.foreground[region.plane]:
                yield from self.collect(region.plane)
            return
        lpn = self.device.sector_in(slot)
        if self.device.is_kept(region, lpn):
            self.device.move_in_region(region, slot)
        elif self.device.life.is_short(self.plane_to_write()):
            return
        else:
            yield from self.carry_out(self.device.evict(lpn, None))
        self.device.pass_slot(region, slot)

    # Retention

    def pass_days(self, days: int) -> Steps:
        """Let days pass, and evict at the end of each what has been in a region for too long."""
        on = (plane for plane, is_on in enumerate(self.device.foreground) if is_on)
        self.on_in_time = frozenset(on)
        for _ in range(0 if self.device.life.over else days):
            self.device.calendar_h += 24
            try:
                yield from self._evict_expired()
            except EndOfLife:
                self.device.life.over = True
                if self.config.timing == "event":
                    planes = range(self.config.planes)
                    self.device.foreground[:] = [plane in self.on_in_time for plane in planes]

    def _evict_expired(self) -> Steps:
        while self.config.sweeps and not self.device.life.over:
            yield from self.collect_first()
            if not (expired := self.device.expired()):
                return
            self.counters["retention_evictions"] += 1
            yield from self.carry_out(self.device.evict(expired[0], None))


class UntimedLoop(AtOnce):
    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device, to_region)
        self.jobs: deque[Job] = deque()

    def steps(self, last: bool) -> Steps:
        while True:
            self.check_life()
            if self.jobs:
                yield from self.carry_out(self.jobs.popleft())
            elif self.horizon_reached() or not self.input:
                return
            else:
                self.step_of_input()

    def submit(self, jobs: list[Job]) -> None:
        self.jobs.extend(jobs)

    def submit_reads(self, request: Request, reads: list[list[int]]) -> None:
        for read in reads:
            self.device.read_page(read)

    def sectors_done(self, request: Request, count: int) -> None:
        """A request takes no time."""
