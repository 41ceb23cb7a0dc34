"""The block reference without time and in time: pages of the host, and the jobs that go before them."""

from __future__ import annotations

from dataclasses import dataclass

from ..loop import FLUSH, TRIM, WRITE, Loop, Page, Steps, Work
from ..nand import Die
from ..page.events import EventLoop
from .device import BlockDevice
from .flash import BlockCommands


class UntimedLoop(Loop):
    device: BlockDevice

    def steps(self, last: bool) -> Steps:
        while not self.horizon_reached():
            self.check_life()
            plane = self.device.plane_that_goes_on(list(range(self.config.planes)))
            if plane is not None:
                yield from self.device.advance(plane)
            elif not self.input:
                return
            elif self.input[0].op == FLUSH:
                self.input.popleft()
            else:
                yield from self.carry_out(self.take_page())

    def carry_out(self, page: Page) -> Steps:
        if page.request.op == TRIM:
            self.device.trim(page.lpn)
        elif page.request.op == WRITE:
            yield from self.write(page)
        elif self.device.is_mapped(page.lpn):
            self.device.read_for_host(page.lpn)
        else:
            self.counters["unmapped_reads"] += 1

    def write(self, page: Page) -> Steps:
        while (ppn := self.device.find_place(page.lpn)) is None:
            plane = self.device.plane_of_bundle(self.device.bundle_of(page.lpn))
            while plane in self.device.jobs:
                yield from self.device.advance(plane)
                self.check_life()
            page.lpn = (page.request.lpn + page.request.admitted - 1) % self.device.life.capacity
        if self.reads_first(page):
            self.counters["rmw_reads"] += 1
            self.device.read_for_host(page.lpn)
        self.device.host_program(ppn, page.lpn, self.device.accept_write(page.lpn))


@dataclass(eq=False)
class JobCommand:
    """What a command of a job carries instead of pages of the host."""

    started: int


class BlockEventLoop(EventLoop):
    device: BlockDevice
    commands: BlockCommands

    def __init__(self, device: BlockDevice) -> None:
        super().__init__(device)
        self.commands = device.commands
        self.classes = [self.go_on, self.host_read, self.host_write]
        if self.config.gc_priority == "after_reads":
            self.classes = [self.host_read, self.go_on, self.host_write]

    def die_of_lpn(self, lpn: int) -> Die:
        return self.die_of_plane(self.device.plane_of_bundle(self.device.bundle_of(lpn)))

    def queue_write(self, page: Page) -> None:
        self.queue_write_to(self.die_of_lpn(page.lpn), page)

    def go_on(self, die: Die) -> Work:
        """Start the next command of the lowest plane with a job that goes on."""
        plane = self.device.plane_that_goes_on(self.planes_of(die))
        if plane is None:
            return False
        phases = yield from self.device.advance(plane)
        self.check_life()
        self.start_gc(die, phases, [JobCommand(self.now)])
        return True

    def host_read(self, die: Die) -> Work:
        yield from ()
        if not die.reads:
            return False
        page = die.reads.popleft()
        if not self.device.is_mapped(page.lpn):  # trimmed while the read was waiting
            self.counters["unmapped_reads"] += not page.reads_first
            self.page_done(page)
        else:
            self.counters["rmw_reads"] += page.reads_first
            searched = self.device.read_for_host(page.lpn)
            self.start(die, self.commands.search_and_read(searched), [page])
        return True

    def host_write(self, die: Die) -> Work:
        yield from ()
        if not die.writes:
            return False
        page = die.writes[0]
        if self.device.is_overtaken(page.lpn, page.version):
            die.writes.popleft()
            self.device.pass_over()
            self.page_done(page)
        elif (ppn := self.device.find_place(page.lpn)) is not None:
            die.writes.popleft()
            self.device.host_program(ppn, page.lpn, page.version)
            self.start(die, self.commands.write(1), [page])
        return True

    def ended(self, pages: list[Page | JobCommand]) -> None:
        for page in pages:
            if isinstance(page, JobCommand):
                self.counters["gc_time_ns"] += self.now - page.started
            else:
                self.page_done(page)
