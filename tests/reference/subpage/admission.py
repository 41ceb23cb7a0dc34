"""What both clocks of the sub-page reference share: parts of requests, the write buffer, flushes."""

from __future__ import annotations

from ..loop import FLUSH, READ, TRIM, WRITE, Loop, Request
from .config import FGM, SECTOR_LOG, SUBFTL
from .device import SubpageDevice
from .jobs import LIST, SUBPAGE, Job
from .rules import Asked

SYNC = 4


class Admission(Loop):
    """A part is the sectors of a request that lie in one group; `to_region` answers for partial groups."""

    device: SubpageDevice

    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device)
        self.to_region = to_region
        self.buffer: dict[int, set[int]] = {}  # dirty sectors by group, in order of the groups' arrival
        device.holders.append(self._unbuffer)

    # What the clocks do their own way

    def sectors_done(self, request: Request, count: int) -> None:
        raise NotImplementedError

    def submit(self, jobs: list[Job]) -> None:
        """Take over jobs, in this order."""
        raise NotImplementedError

    def submit_reads(self, request: Request, reads: list[list[int]]) -> None:
        """Take over reads of the host, each of one flash page."""
        raise NotImplementedError

    # Parts

    def step_of_input(self) -> None:
        """Admit the next part, or flush what it has to wait for; its request is in admission then."""
        request = self.input[0]
        if request.op == FLUSH and not self.buffer:
            self.input.popleft()
        elif request.op == FLUSH:
            self.flush_oldest()
        elif request.op == WRITE:
            self.begin_request(request)
            self.write_part(request, self.next_part())
        else:
            part = self.next_part()
            self.begin_request(request)
            self.take(request, part)
            {READ: self.read_part, TRIM: self.trim_part}[request.op](request, part)

    def next_part(self) -> list[int]:
        request, n = self.input[0], self.device.config.slots_per_page
        first = (request.lpn + request.admitted) % self.device.life.capacity
        return list(range(first, min(first + request.pages - request.admitted, (first // n + 1) * n)))

    def take(self, request: Request, part: list[int]) -> None:
        request.admitted += len(part)
        if request.admitted == request.pages:
            self.input.popleft()

    def read_part(self, request: Request, part: list[int]) -> None:
        waiting = []
        for lpn in part:
            self.counters["host_reads"] += 1
            if self.device.newer_version_waits(lpn):
                self.counters["buffer_hits" if self.is_buffered(lpn) else "queue_hits"] += 1
            elif not self.device.is_mapped(lpn):
                self.counters["unmapped_reads"] += 1
            else:
                waiting.append(lpn)
        self.submit_reads(request, self.device.by_page(waiting))
        self.sectors_done(request, len(part) - len(waiting))

    def trim_part(self, request: Request, part: list[int]) -> None:
        for lpn in part:
            self._unbuffer(lpn)
            self.device.trim(lpn)
        self.sectors_done(request, len(part))

    def write_part(self, request: Request, part: list[int]) -> None:
        c, group = self.device.config, part[0] // self.device.config.slots_per_page
        dirty = {*self.buffer.get(group, ()), *part}
        is_sync = bool(request.flags & SYNC)
        leaves = is_sync or len(dirty) == c.slots_per_page
        if not leaves and group not in self.buffer and len(self.buffer) == c.buffer_groups:
            self.flush_oldest()
            return
        goes_to_region = leaves and self.goes_to_region(dirty)
        self.take(request, part)
        for lpn in part:
            self.counters["buffer_merges"] += self.is_buffered(lpn)
            self.device.accept_write(lpn)
            self.device.clock += 1
            self.counters["host_pages_written"] += 1
            self.written_pages_admitted += 1
        if leaves:
            self.buffer.pop(group, None)
            jobs = self.flush(group, dirty, goes_to_region)
            for job in jobs if is_sync else []:
                job.request, job.sectors = request, len(job.dirty.keys() & set(part))
            self.submit(jobs)
        else:
            self.buffer.setdefault(group, set()).update(part)
        if not is_sync:
            self.sectors_done(request, len(part))

    # The buffer

    def is_buffered(self, lpn: int) -> bool:
        return lpn in self.buffer.get(lpn // self.device.config.slots_per_page, ())

    def _unbuffer(self, lpn: int) -> None:
        group = lpn // self.device.config.slots_per_page
        if self.is_buffered(lpn):
            self.buffer[group].remove(lpn)
            if not self.buffer[group]:
                del self.buffer[group]

    def flush_oldest(self) -> None:
        """Flush the group that came first, or a page of gathered sectors from it on."""
        if self.device.config.kind in (FGM, SECTOR_LOG):
            self.submit([self._list(self._gather())])
        else:
            group = next(iter(self.buffer))
            goes_to_region = self.goes_to_region(self.buffer[group])
            self.submit(self.flush(group, self.buffer.pop(group), goes_to_region))

    def _gather(self) -> list[int]:
        oldest_first = [lpn for dirty in self.buffer.values() for lpn in sorted(dirty)]
        gathered = oldest_first[: self.device.config.slots_per_page]
        for lpn in gathered:
            self._unbuffer(lpn)
        return gathered

    def goes_to_region(self, dirty: set[int]) -> bool:
        """Whether a group that leaves the buffer is written to the region, sector by sector."""
        is_partial = len(dirty) < self.device.config.slots_per_page
        if self.device.config.kind != SUBFTL or not is_partial:
            return False
        return self.to_region(min(dirty)) if self.to_region else True

    # Flushes

    def flush(self, group: int, dirty: set[int], goes_to_region: bool) -> list[Job]:
        """The jobs that program a group."""
        kind, is_partial = self.device.config.kind, len(dirty) < self.device.config.slots_per_page
        if kind == FGM or (kind == SECTOR_LOG and is_partial):
            return [self._list(sorted(dirty))]
        versions = self._versions(sorted(dirty))
        self._count_small(dirty)
        if goes_to_region:
            return [
                Job(kind=SUBPAGE, dirty={lpn: version}, is_partial=True, to_region=True)
                for lpn, version in versions.items()
            ]
        return [self.device.group_job(group, versions, is_partial)]

    def _list(self, lpns: list[int]) -> Job:
        self._count_small(lpns)
        is_partial = len(lpns) < self.device.config.slots_per_page
        to_region = self.device.config.kind == SECTOR_LOG
        return Job(kind=LIST, dirty=self._versions(lpns), is_partial=is_partial, to_region=to_region)

    def _versions(self, lpns: list[int]) -> dict[int, int]:
        return {lpn: self.device.logical[lpn].accepted for lpn in lpns}

    def _count_small(self, lpns: set[int] | list[int]) -> None:
        if len(lpns) < self.device.config.slots_per_page:
            self.counters["small_write_bytes"] += len(lpns) * self.device.config.subpage_bytes
