"""The block reference without time: page by page, with the jobs that a page needs before it."""

from __future__ import annotations

from ..loop import FLUSH, TRIM, WRITE, Loop, Page, Steps
from .device import BlockDevice


class UntimedLoop(Loop):
    device: BlockDevice

    def steps(self, last: bool) -> Steps:
        while not self.horizon_reached():
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
        reads_first = self.reads_first(page)
        version = self.device.accept_write(page.lpn)
        while (ppn := self.device.find_place(page.lpn)) is None:
            plane = self.device.plane_of_bundle(self.device.bundle_of(page.lpn))
            while plane in self.device.jobs:
                yield from self.device.advance(plane)
        if reads_first:
            self.counters["rmw_reads"] += 1
            self.device.read_for_host(page.lpn)
        self.device.host_program(ppn, page.lpn, version)
