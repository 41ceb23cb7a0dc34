"""The reference without time: requests are carried out one after the other."""

from __future__ import annotations

from .loop import FLUSH, TRIM, WRITE, Loop, Page, Steps


class UntimedLoop(Loop):
    def steps(self, last: bool) -> Steps:
        while True:
            self.between_steps()
            self.check_life()
            if self.horizon_reached():
                return
            if any(self.device.foreground):
                yield from self.collect(self.device.foreground.index(True))
            elif any(self.device.levelling):
                self.level(next(plane for plane, state in enumerate(self.device.levelling) if state))
            elif not self.input:
                return
            elif (plane := self.short_plane()) is not None:
                self.device.foreground[plane] = True
                self.counters["gc_episodes"] += 1
            elif self.input[0].op == FLUSH:
                self.input.popleft()
            else:
                self.carry_out(self.take_page())

    def collect(self, plane: int) -> Steps:
        device = self.device
        if device.leader_of(plane) is None and not device.life.can_collect(plane):
            device.life.give_up(plane)
        else:
            if device.leader_of(plane) is None:
                device.start_round(plane, (yield plane))
            device.finish_round(plane)
        self.go_on()

    def level(self, plane: int) -> None:
        if self.device.start_levelling(plane):
            self.device.finish_round(plane)
        self.go_on()

    def go_on(self) -> None:
        """With rounds that are not over, unless the device is."""
        device = self.device
        if device.rounds and not any(device.foreground):
            device.foreground[min(device.rounds)] = True
        self.check_life()

    def carry_out(self, page: Page) -> None:
        if page.request.op == TRIM:
            self.device.trim(page.lpn)
        elif page.request.op == WRITE:
            self.write(page)
        elif self.device.is_mapped(page.lpn):
            self.device.read_flash(page.lpn)
        else:
            self.counters["unmapped_reads"] += 1

    def short_plane(self) -> int | None:
        """The plane that has to be collected before it takes what is programmed next."""
        request = self.input[0]
        if not self.device.life.wears or request.op != WRITE:
            return None
        plane = self.plane_to_bind((request.lpn + request.admitted) % self.device.life.capacity)
        return plane if plane is not None and self.device.life.is_short(plane) else None

    def write(self, page: Page) -> None:
        device, lpn = self.device, page.lpn
        plane = self.plane_to_bind(lpn)
        device.request = page.request
        self.pass_cursors(plane)
        if self.reads_first(page):
            self.counters["rmw_reads"] += 1
            device.read_flash(lpn)
        device.host_program(plane, lpn, device.logical[lpn].accepted + 1)
        device.accept_write(lpn)

    def plane_to_bind(self, lpn: int) -> int:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        plane = self.device.plane_with_room(self.die_to_bind())
        return self.device.emptiest_plane() if plane is None else plane

    def pass_cursors(self, plane: int) -> None:
        """Behind the die that is bound, and behind the plane if it is one of that die's."""
        if self.config.allocation == "static":
            return
        die = self.bind_die()
        if self.device.die_of_plane(plane) == die:
            self.device.advance_plane_cursor(plane)
