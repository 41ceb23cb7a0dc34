"""What both clocks of the sub-page reference share: parts of requests, the write buffer, flushes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..loop import FLUSH, READ, TRIM, WRITE, Loop, Request
from .config import FGM, SECTOR_LOG, SUBFTL
from .device import SubpageDevice
from .jobs import LIST, SUBPAGE, Job
from .rules import Asked

SYNC = 4


@dataclass
class Run:
    """Consecutive sectors that leave the buffer of subftl as one write."""

    sectors: range
    request: Request  # which writes some of them
    at: tuple[int, int]  # the sector of the request that comes next, and how many came before

    def whole_pages(self, n: int) -> range:
        """The sectors that fill pages."""
        return self.sectors[: len(self.sectors) // n * n]


class Admission(Loop):
    """A part is the sectors of a request that lie in one group; `to_region` answers for parts of pages."""

    device: SubpageDevice

    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device)
        self.to_region = to_region
        self.buffer: dict[int, set[int]] = {}  # dirty sectors by group, in order of the groups' arrival
        self.run: Run | None = None  # the last one that left
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
        is_sync = bool(request.flags & SYNC)
        if c.kind == SUBFTL:
            leaves = self._begin_run(request, part)
            if leaves and (beside := self._group_beside(request, part)) is not None:
                self.submit(self._flush_of_run(beside))
                return
        else:
            leaves = is_sync or len({*self.buffer.get(group, ()), *part}) == c.slots_per_page
        if not leaves and group not in self.buffer and len(self.buffer) == c.buffer_groups:
            self.flush_oldest()
            return
        self.take(request, part)
        for lpn in part:
            self.counters["buffer_merges"] += self.is_buffered(lpn)
            self.device.accept_write(lpn)
            self.device.clock += 1
            self.counters["host_pages_written"] += 1
            self.written_pages_admitted += 1
        self.buffer.setdefault(group, set()).update(part)
        if leaves:
            jobs = self._flush_of_run(group) if c.kind == SUBFTL else self.flush(self.buffer.pop(group))
            for job in jobs if is_sync else []:
                job.request, job.sectors = request, len(job.dirty.keys() & set(part))
            self.submit(jobs)
        if not is_sync:
            self.sectors_done(request, len(part))

    # Runs

    def _begin_run(self, request: Request, part: list[int]) -> bool:
        """Whether the part is of a run that leaves; if none is leaving it is found now."""
        at = (part[0], request.admitted)
        if self.run is None or self.run.request is not request or self.run.at != at:
            capacity = self.device.life.capacity
            first, end = part[0], min(part[0] + request.pages - request.admitted, capacity)
            while self.is_buffered(first - 1):
                first -= 1
            while self.is_buffered(end):
                end += 1
            if not request.flags & SYNC and end - first < self.device.config.slots_per_page:
                return False
            self.run = Run(range(first, end), request, at)
        return True

    def _group_beside(self, request: Request, part: list[int]) -> int | None:
        """The first group with waiting sectors of the run in which the request writes nothing."""
        assert self.run
        n, last = self.device.config.slots_per_page, part[0] + request.pages - request.admitted - 1
        own = range(part[0] // n, min(last, self.device.life.capacity - 1) // n + 1)
        groups = [lpn // n for lpn in self.run.sectors if self.is_buffered(lpn) and lpn // n not in own]
        return groups[0] if groups else None

    def _flush_of_run(self, group: int) -> list[Job]:
        """The jobs of what the run that leaves has in a group; the next part of its request is behind it."""
        assert self.run
        n, request = self.device.config.slots_per_page, self.run.request
        leaving = {lpn for lpn in self.run.sectors if lpn // n == group and self.is_buffered(lpn)}
        for lpn in leaving:
            self._unbuffer(lpn)
        if request.admitted > self.run.at[1]:
            self.run.at = (self.run.at[0] + request.admitted - self.run.at[1], request.admitted)
        return self.flush(leaving, leaving.intersection(self.run.whole_pages(n)))

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
            self.submit(self.flush(self.buffer.pop(next(iter(self.buffer)))))

    def _gather(self) -> list[int]:
        oldest_first = [lpn for dirty in self.buffer.values() for lpn in sorted(dirty)]
        gathered = oldest_first[: self.device.config.slots_per_page]
        for lpn in gathered:
            self._unbuffer(lpn)
        return gathered

    # Flushes

    def flush(self, dirty: set[int], whole: Collection[int] = ()) -> list[Job]:
        """The jobs that program sectors of a group, of which some belong to full pages of a run."""
        kind, is_part = self.device.config.kind, len(dirty) < self.device.config.slots_per_page
        if kind == FGM or (kind == SECTOR_LOG and is_part):
            return [self._list(sorted(dirty))]
        small = dirty.difference(whole) if is_part or kind == SUBFTL else set()
        self._count_small(small)
        goes = kind == SUBFTL and bool(small) and (not self.to_region or self.to_region(min(small)))
        rest = small if goes else set()
        jobs = []
        if main := dirty - rest:
            group = min(main) // self.device.config.slots_per_page
            jobs.append(self.device.group_job(group, self._versions(sorted(main)), main <= small))
        for lpn, version in self._versions(sorted(rest)).items():
            jobs.append(Job(kind=SUBPAGE, dirty={lpn: version}, is_partial=True, to_region=True))
        return jobs

    def _list(self, lpns: list[int]) -> Job:
        is_part = len(lpns) < self.device.config.slots_per_page
        self._count_small(lpns if is_part else ())
        to_region = self.device.config.kind == SECTOR_LOG
        return Job(kind=LIST, dirty=self._versions(lpns), is_partial=is_part, to_region=to_region)

    def _versions(self, lpns: list[int]) -> dict[int, int]:
        return {lpn: self.device.logical[lpn].accepted for lpn in lpns}

    def _count_small(self, lpns: Collection[int]) -> None:
        self.counters["small_write_bytes"] += len(lpns) * self.device.config.subpage_bytes
