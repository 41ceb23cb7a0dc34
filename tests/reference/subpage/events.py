"""The sub-page reference in time: what the transactions wait for, and what the dies do next."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from ..clock import Clock
from ..loop import Request, Steps, Transaction, Work
from ..nand import Die, Phases
from .device import SubpageDevice
from .flash import Region
from .jobs import Job
from .rules import ADVANCE, COLLECTING, Asked
from .untimed import AtOnce


@dataclass(eq=False)
class Read(Transaction):
    """A transaction that reads sectors, all on one flash page when it is made."""

    lpns: list[int]
    owner: Request | Job
    reading: list[int] = field(default_factory=list)  # by the command under way


class EventLoop(AtOnce, Clock):
    def __init__(self, device: SubpageDevice, to_region: Asked | None = None) -> None:
        super().__init__(device, to_region)
        self.numbers = count()  # of jobs
        self.short: set[int] = set()  # planes whose next eviction finds too few places
        self.device.invalidated_in = self.wake_collection
        self.classes = [self.main_gc, self.read, self.collection, self.write]
        if self.config.gc_priority == "after_reads":
            self.classes = [self.read, self.main_gc, self.collection, self.write]

    # Admission

    def free_places(self) -> int:
        return self.config.window_pages - len(self.in_flight)

    def places_are_free(self) -> bool:
        return self.free_places() >= 2 * self.config.most_transactions

    def flush_must_wait(self) -> bool:
        host_jobs = [work for work in self.in_flight if isinstance(work, Job) and not work.is_eviction]
        return not self.buffer and bool(host_jobs)

    def admit(self) -> Steps:
        yield from ()  # asks for no victim
        self.step_of_input()

    def submit(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.number = next(self.numbers)
            job.reads_left = len(job.reads)
            self.in_flight.append(job)
            for lpns in job.reads:
                self.submit_read(Read(lpns, job))
            if not job.reads:
                self.queue_job(job)

    def submit_reads(self, request: Request, reads: list[list[int]]) -> None:
        for lpns in reads:
            self.submit_read(Read(lpns, request))

    def submit_read(self, read: Read) -> None:
        self.in_flight.append(read)
        self.queue_read(read)

    def queue_read(self, read: Read) -> None:
        die = self.die_of_lpn(next(filter(self.device.is_mapped, read.lpns)))
        die.reads.append(read)
        self.note_queued(read, die)
        self.charge(die, self.commands.read())
        self.make_ready(die)

    def queue_job(self, job: Job) -> None:
        if not job.to_region:
            self.queue_write_to(self.nand.dies[self.bind_die()], job)
            return
        region = self.bind_region()
        region.queue.append(job)
        die = self.die_of_plane(region.plane)
        self.note_queued(job, die)
        self.charge(die, self.program_phases())
        self.make_ready(die)

    def die_of_lpn(self, lpn: int) -> Die:
        return self.die_of_plane(self.device.plane_of_flash_page(self.device.page_of(lpn)))

    # Phases

    def program_phases(self) -> Phases:
        """Of a program in a region."""
        if self.device.config.kind == "sector_log":
            return self.commands.write(1)
        return [(True, self.config.subpage_transfer_ns), (False, self.config.subpage_program_ns)]

    def copy_phases(self) -> Phases:
        """Of an advance or a move within a region."""
        c = self.config
        return [(False, c.read_ns), (True, 2 * c.subpage_transfer_ns), (False, c.subpage_program_ns)]

    def relocation_phases(self, reads: int) -> Phases:
        """Of a page gathered from so many pages."""
        c = self.config
        return [(False, reads * c.read_ns), (True, (reads + 1) * c.transfer_ns), (False, c.program_ns)]

    # Classes of work

    def main_gc(self, die: Die) -> Work:
        for plane in self.planes_of(die):
            if not self.device.foreground[plane]:
                continue
            if self.device.leader_of(plane) is None and not self.device.life.can_collect(plane):
                self.device.life.give_up(plane)
                self.check_life()
                return True
            if self.device.leader_of(plane) is None:
                self.device.start_round(plane, (yield plane))
            if reads := self.device.move_next(plane):
                self.start_gc(die, self.relocation_phases(reads))
            else:
                self.device.erase(plane)
                self.check_life()
                self.start_gc(die, self.commands.erase())
            return True
        return False

    def read(self, die: Die) -> Work:
        yield from ()
        if not die.reads:
            return False
        read = die.reads.popleft()
        self.drop_unmapped(read)
        if not read.lpns:
            self.read_ended(read)
        elif self.die_of_lpn(read.lpns[0]) is not die:
            self.queue_read(read)
        else:
            page = self.device.page_of(read.lpns[0])
            read.reading = [lpn for lpn in read.lpns if self.device.page_of(lpn) == page]
            read.lpns = [lpn for lpn in read.lpns if lpn not in read.reading]
            self.counters["rmw_reads"] += isinstance(read.owner, Job)
            self.device.read_page(read.reading)
            self.start(die, self.commands.read(), [read])
        return True

    def drop_unmapped(self, read: Read) -> None:
        mapped = list(filter(self.device.is_mapped, read.lpns))
        if isinstance(read.owner, Request) and len(mapped) < len(read.lpns):
            self.counters["unmapped_reads"] += len(read.lpns) - len(mapped)
            self.sectors_done(read.owner, len(read.lpns) - len(mapped))
        read.lpns = mapped

    def collection(self, die: Die) -> Work:
        yield from ()
        return any(self.go_on_collecting(die, self.device.regions[plane]) for plane in self.planes_of(die))

    def go_on_collecting(self, die: Die, region: Region) -> bool:
        """Scan on, up to a command or a wait; returns whether anything was done."""
        did_something = False
        while region.victim is not None:
            slot = self.device.next_to_collect(region)
            if slot is None:
                region.scan = self.device.config.slots_per_block
                if self.device.can_erase_victim(region):
                    self.device.erase_victim(region)
                    self.check_life()
                    self.start_gc(die, self.commands.erase())
                    return True
                return did_something
            lpn = self.device.sector_in(slot)
            if slot != region.evicts and self.device.is_kept(region, lpn):
                self.device.pass_slot(region, slot)
                self.device.move_in_region(region, slot)
                self.start_gc(die, self.copy_phases())
                return True
            if not self.device.is_being_evicted(lpn) and self.is_short(region):
                region.evicts = slot
                return did_something
            self.device.pass_slot(region, slot)
            if job := self.device.evict(lpn, region.plane):
                self.submit([job])
            did_something = True
        return did_something

    def is_short(self, region: Region) -> bool:
        """Whether there are too few places for an eviction; the plane is woken when there may be more."""
        is_short = self.free_places() < self.config.most_transactions
        if is_short:
            self.short.add(region.plane)
        return is_short

    def write(self, die: Die) -> Work:
        yield from ()
        regions = [self.device.regions[plane] for plane in self.planes_of(die)]
        heads = [region.queue[0] for region in regions if region.queue and region.victim is None]
        heads += list(die.writes)[:1]
        if not heads:
            return False
        job = min(heads, key=lambda job: job.number)
        if job in die.writes:
            self.write_to_main(die, job)
        else:
            [region] = [region for region in regions if job in region.queue]
            self.write_to_region(die, region, job)
        return True

    def write_to_main(self, die: Die, job: Job) -> None:
        if not self.device.included(job):
            die.writes.popleft()
            self.device.begin(job)
            self.job_ended(job)
        elif (plane := self.device.plane_with_room(die.number)) is None:
            die.writes.popleft()
            self.queue_write_to(self.die_of_plane(self.device.emptiest_plane()), job)
        elif self.device.life.is_short(plane):
            self.device.foreground[plane] = True
            self.counters["gc_episodes"] += 1
        else:
            self.device.life.ensure_page(plane)
            die.writes.popleft()
            self.device.advance_plane_cursor(plane)
            self.device.begin(job)
            self.device.program_job(job, plane)
            self.start(die, self.commands.write(1), [job])

    def write_to_region(self, die: Die, region: Region, job: Job) -> None:
        if not self.device.begin(job):
            region.queue.popleft()
            self.job_ended(job)
        elif (found := self.device.prepare(region)) == ADVANCE:
            self.device.advance_subpage(region)
            self.start_gc(die, self.copy_phases())
        elif found != COLLECTING:
            region.queue.popleft()
            self.device.program_in_region(job, region)
            self.start(die, self.program_phases(), [job])

    # What has ended

    def ended(self, pages: list[Read | Job]) -> None:
        for work in pages:
            if isinstance(work, Job):
                self.job_ended(work)
            else:
                self.page_read(work)

    def page_read(self, read: Read) -> None:
        if isinstance(read.owner, Request):
            self.sectors_done(read.owner, len(read.reading), read)
        if any(map(self.device.is_mapped, read.lpns)):
            self.queue_read(read)
            return
        self.drop_unmapped(read)
        self.read_ended(read)

    def read_ended(self, read: Read) -> None:
        self.in_flight.remove(read)
        if isinstance(read.owner, Job):
            read.owner.reads_left -= 1
            if read.owner.reads_left == 0:
                self.queue_job(read.owner)

    def job_ended(self, job: Job) -> None:
        self.in_flight.remove(job)
        if job.request is not None and job.sectors:
            self.sectors_done(job.request, job.sectors, job)
        if job.collector is not None:
            region = self.device.regions[job.collector]
            region.evictions.discard(job)
            self.wake_collection(region)
            for plane in sorted(self.short):
                self.make_ready(self.die_of_plane(plane))
            self.short.clear()

    def wake_collection(self, region: Region) -> None:
        """Make the die ready if the victim has been scanned and can be erased now."""
        is_scanned = region.victim is not None and region.scan == self.device.config.slots_per_block
        if is_scanned and self.device.can_erase_victim(region):
            self.make_ready(self.die_of_plane(region.plane))

    def sectors_done(self, request: Request, count: int, by: Transaction | None = None) -> None:
        if count:
            self.part_done(request, count, by)
