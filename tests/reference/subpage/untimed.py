"""The sub-page reference without time, and what takes no time in either clock."""

from __future__ import annotations

from collections import deque

from ..loop import Request, Steps
from .admission import Admission
from .device import SubpageDevice
from .flash import Region
from .jobs import Job
from .rules import ADVANCE, READY, Asked


class AtOnce(Admission):
    def collect(self, plane: int) -> Steps:
        """Collect in the plane's main area until the goal is reached."""
        while self.device.foreground[plane]:
            if self.device.leader_of(plane) is None:
                self.device.start_round(plane, (yield plane))
            while self.device.move_next(plane):
                pass
            self.device.erase(plane)

    def carry_out(self, job: Job) -> Steps:
        """Carry the job out whole, with what it needs before and the collection it calls for."""
        yield from self._carry_to_region(job) if job.to_region else self._carry_to_main(job)

    def _carry_to_main(self, job: Job) -> Steps:
        for read in job.reads:
            self.counters["rmw_reads"] += 1
            self.device.read_page(read)
        plane = self.device.plane_with_room(self.bind_die())
        if plane is None:
            plane = self.device.emptiest_plane()
        else:
            self.device.advance_plane_cursor(plane)
        assert self.device.begin(job), "without time nothing overtakes a job"
        self.device.program_job(job, plane)
        if self.device.needs_gc(plane):  # a plane may be collecting since a run in time, and need it no more
            yield from self.collect(plane)

    def _carry_to_region(self, job: Job) -> Steps:
        region = self.bind_region()
        while (found := self.device.prepare(region)) != READY:
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
            return
        lpn = self.device.sector_in(slot)
        if self.device.is_kept(region, lpn):
            self.device.move_in_region(region, slot)
        else:
            yield from self.carry_out(self.device.evict(lpn, None))
        self.device.pass_slot(region, slot)

    # Retention

    def pass_days(self, days: int) -> Steps:
        """Let days pass, and evict at the end of each what has been in a region for too long."""
        for _ in range(days):
            self.device.calendar_h += 24
            while expired := self.device.expired():
                self.counters["retention_evictions"] += 1
                yield from self.carry_out(self.device.evict(expired[0], None))


class UntimedLoop(AtOnce):
    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device, to_region)
        self.jobs: deque[Job] = deque()

    def steps(self, last: bool) -> Steps:
        while True:
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
