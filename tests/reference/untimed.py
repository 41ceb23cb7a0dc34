"""The reference without time: requests are carried out one after the other."""

from __future__ import annotations

from .loop import FLUSH, TRIM, WRITE, Loop, Page, Steps


class UntimedLoop(Loop):
    def steps(self, last: bool) -> Steps:
        while True:
            self.between_steps()
            if self.horizon_reached():
                return
            if any(self.device.foreground):
                yield from self.collect(self.device.foreground.index(True))
            elif any(self.device.levelling):
                self.level(next(plane for plane, state in enumerate(self.device.levelling) if state))
            elif not self.input:
                return
            elif self.input[0].op == FLUSH and self.held.pages:
                self.write(self.evicted(self.held.evict(), self.input[0]))
            elif self.input[0].op == FLUSH:
                self.input.popleft()
            else:
                self.carry_out(self.take_page())

    def collect(self, plane: int) -> Steps:
        self.device.start_round(plane, (yield plane))
        while self.device.move_next(plane):
            pass
        self.device.erase(plane)

    def level(self, plane: int) -> None:
        if self.device.start_levelling(plane):
            while self.device.move_next(plane):
                pass
            self.device.erase(plane)

    def carry_out(self, page: Page) -> None:
        if page.request.op == TRIM:
            self.held.drop(page.lpn)
            self.device.trim(page.lpn)
        elif page.request.op == WRITE:
            if (leaving := self.through_buffer(page)) is not None:
                self.write(leaving)
        elif self.held.holds(page.lpn):
            self.counters["buffer_reads"] += 1
        elif self.device.is_mapped(page.lpn):
            self.device.read_flash(page.lpn)
        else:
            self.counters["unmapped_reads"] += 1

    def write(self, page: Page) -> None:
        if self.reads_first(page):
            self.counters["rmw_reads"] += 1
            self.device.read_flash(page.lpn)
        version = self.device.accept_write(page.lpn)
        self.device.request = page.told
        self.device.host_program(self.bind_plane(page.lpn), page.lpn, version)

    def bind_plane(self, lpn: int) -> int:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        plane = self.device.plane_with_room(self.bind_die())
        if plane is None:
            return self.device.emptiest_plane()
        self.device.advance_plane_cursor(plane)
        return plane
