"""The reference in time, by discrete events: admission, and what the dies do next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..loop import FLUSH, READ, TRIM, WRITE, Page, Steps, Work
from ..nand import Die
from .device import Device
from .idle import BackgroundGc


class EventLoop(BackgroundGc):
    """Admission, and the classes of work that a die looks for."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.in_flight: list[Page] = []
        self.classes = self.classes_in_order()

    def classes_in_order(self) -> list[Callable[[Die], Work]]:
        c = self.config
        must, may = [self.foreground_gc, self.levelling], []
        if c.waits_for_empty_queues:
            must, may = [self.urgent_gc], must
        goes_on = [self.running_gc] if c.gc_grain == "round" else []
        if c.gc_priority == "first":
            before_writes = [*must, *goes_on, self.host_read]
        else:
            before_writes = [*goes_on, self.host_read, *must]
        return [*before_writes, self.host_write, *may, self.background_gc]

    def die_to_offer(self) -> Die | None:
        """The idle die, from the cursor on, that could take the head of the common queue."""
        if not self.common:
            return None
        dies = self.nand.dies[self.die_cursor :] + self.nand.dies[: self.die_cursor]
        idle = [die for die in dies if die.command is None]
        with_room = [die for die in idle if any(map(self.device.has_room, self.planes_of(die)))]
        return with_room[0] if with_room else None

    # Admission

    def places_are_free(self) -> bool:
        return len(self.in_flight) < self.config.window_pages

    def flush_must_wait(self) -> bool:
        return any(page.request.op != READ for page in self.in_flight)

    def admit(self) -> Steps:
        yield from ()  # asks for no decision
        if self.input[0].op == FLUSH:
            self.input.popleft()
            self.started += 1
            return
        page = self.take_page()
        self.begin_request(page.request)
        admit_op = {READ: self.admit_read, WRITE: self.admit_write, TRIM: self.admit_trim}
        admit_op[page.request.op](page)

    def admit_read(self, page: Page) -> None:
        if self.device.newer_version_waits(page.lpn):
            self.counters["queue_hits"] += 1
            self.page_done(page)
        elif not self.device.is_mapped(page.lpn):
            self.counters["unmapped_reads"] += 1
            self.page_done(page)
        else:
            self.in_flight.append(page)
            self.queue_read(page)

    def admit_write(self, page: Page) -> None:
        """Promise the page of a write, and let it go to flash."""
        self.in_flight.append(page)
        page.reads_first = self.reads_first(page)
        page.version = self.device.accept_write(page.lpn)
        if page.reads_first:
            self.queue_read(page)
        else:
            self.queue_write(page)

    def admit_trim(self, page: Page) -> None:
        self.device.trim(page.lpn)
        self.page_done(page)

    def queue_read(self, page: Page) -> None:
        die = self.die_of_lpn(page.lpn)
        die.reads.append(page)
        self.note_queued(page, die)
        self.charge(die, self.commands.read())
        self.make_ready(die)

    def queue_write(self, page: Page) -> None:
        if self.config.allocation == "late":
            self.common.append(page)
            self.note_queued(page, None)
        elif self.config.allocation == "dynamic":
            self.queue_write_to(self.nand.dies[self.bind_die()], page)
        else:
            self.queue_write_to(self.die_of_plane(page.lpn % self.config.planes), page)

    def die_of_lpn(self, lpn: int) -> Die:
        return self.die_of_plane(self.device.plane_of_page(self.device.logical[lpn].ppn))

    def ended(self, pages: list[Page]) -> None:
        for page in pages:
            self.page_done(page)

    def page_done(self, page: Page) -> None:
        if page.reads_first:
            page.reads_first = False
            self.waits.note_ended(page.request.serial, page, self.now)
            self.queue_write(page)
            return
        if page in self.in_flight:
            self.in_flight.remove(page)
        self.part_done(page.request, 1, page)

    # Classes of work

    def foreground_gc(self, die: Die) -> Work:
        return (yield from self.collect_first(die, lambda plane: self.device.foreground[plane]))

    def levelling(self, die: Die) -> Work:
        """Rounds that level wear, behind those of collection."""
        return (yield from self.collect_first(die, lambda plane: bool(self.device.levelling[plane])))

    def urgent_gc(self, die: Die) -> Work:
        """Foreground GC of planes that have to be collected in before they take a page more."""

        def is_urgent(plane: int) -> bool:
            return self.device.foreground[plane] and self.device.is_on_floor(plane)

        return (yield from self.collect_first(die, is_urgent))

    def running_gc(self, die: Die) -> Work:
        """Rounds that background GC has started, which are not interrupted."""

        def goes_on(plane: int) -> bool:
            return self.device.leader_of(plane) is not None and not self.device.foreground[plane]

        return (yield from self.collect_first(die, goes_on))

    def collect_first(self, die: Die, is_due: Callable[[int], bool]) -> Work:
        """Collect in the lowest plane for which it is due."""
        for plane in self.planes_of(die):
            if is_due(plane):
                yield from self.collect(die, plane)
                return True
        return False

    def host_read(self, die: Die) -> Work:
        yield from ()  # asks for no decision, but is called as the other classes are
        if not die.reads:
            return False
        page = die.reads.popleft()
        if not self.device.is_mapped(page.lpn):  # trimmed while the read was waiting
            self.counters["unmapped_reads"] += not page.reads_first
            self.page_done(page)
        elif self.die_of_lpn(page.lpn) is not die:
            self.queue_read(page)
        else:
            pages = [page]
            self.read_flash(page)
            while die.reads and self.read_joins(die, die.reads[0], pages):
                pages.append(die.reads.popleft())
                self.read_flash(pages[-1])
                self.counters["joined_reads"] += 1
            self.start(die, self.commands.read(len(pages)), pages)
        return True

    def read_flash(self, page: Page) -> None:
        self.counters["rmw_reads"] += page.reads_first
        self.device.read_flash(page.lpn)

    def read_joins(self, die: Die, page: Page, others: list[Page]) -> bool:
        """Whether the read can be carried out with these, in a plane of its own."""
        if not self.config.multi_plane_reads or not self.device.is_mapped(page.lpn):
            return False
        ppn, *taken = [self.device.logical[lpn].ppn for lpn in (page.lpn, *(other.lpn for other in others))]
        plane, planes = self.device.plane_of_page(ppn), [self.device.plane_of_page(other) for other in taken]
        is_of_die = plane in self.planes_of(die) and plane not in planes
        return is_of_die and self.device.number_in_block(ppn) == self.device.number_in_block(taken[0])

    def host_write(self, die: Die) -> Work:
        is_late = self.config.allocation == "late"
        queue = self.common if is_late else die.writes
        if not queue:
            return False
        plane = self.bind_plane(die, queue[0].lpn)
        if plane is None and is_late:
            return False
        if plane is None:
            self.send_elsewhere(queue.popleft())
        elif not self.device.takes_host_pages(plane):
            yield from self.collect(die, plane)
        elif self.device.life.is_short(plane):
            self.device.foreground[plane] = True
            self.counters["gc_episodes"] += 1
        else:
            self.start_write(die, plane, queue)
        return True

    def bind_plane(self, die: Die, lpn: int) -> int | None:
        if self.config.allocation == "static":
            return lpn % self.config.planes
        return self.device.plane_with_room(die.number)

    def start_write(self, die: Die, plane: int, queue: deque[Page]) -> None:
        """Program the head of the queue in the plane and, with multi-plane writes, what may join it."""
        order = self.planes_behind(die, plane)
        self.device.request = queue[0].request
        row = self.device.host_row(plane, queue[0].lpn) if self.config.multi_plane_writes else None
        if self.config.allocation != "static":
            self.device.advance_plane_cursor(plane)
        pages = [self.program_head(plane, queue)]
        while row is not None and queue and (joins := self.planes_to_join(order, queue[0], row)):
            order.remove(joins[0])
            pages.append(self.program_head(joins[0], queue, row))
            self.counters["joined_writes"] += 1
        is_done_early = self.config.write_completes == "transfer"
        self.start(die, self.commands.write(len(pages)), pages, is_done_early)

    def program_head(self, plane: int, queue: deque[Page], row: int | None = None) -> Page:
        page = queue.popleft()
        self.device.request = page.request
        self.device.host_program(plane, page.lpn, page.version, row)
        return page

    def planes_behind(self, die: Die, plane: int) -> list[int]:
        """The other planes of the die, upwards and wrapping."""
        planes = self.planes_of(die)
        position = planes.index(plane)
        return planes[position + 1 :] + planes[:position]

    def planes_to_join(self, others: list[int], page: Page, row: int) -> list[int]:
        """Those of the planes not in the command yet where the page could be programmed with it, in order."""
        lpn, self.device.request = page.lpn, page.request
        if self.config.allocation == "static":
            others = [plane for plane in others if plane == lpn % self.config.planes]
        else:
            others = [p for p in others if self.device.has_room(p) and not self.device.life.is_short(p)]
        undisturbed = [plane for plane in others if self.device.takes_host_pages(plane)]
        return [plane for plane in undisturbed if self.device.reaches_row(plane, lpn, row)]

    def send_elsewhere(self, page: Page) -> None:
        plane = self.device.emptiest_plane()
        if not self.device.has_room(plane):
            raise RuntimeError("every plane holds V_max valid pages: this write would be sent round for ever")
        self.queue_write_to(self.die_of_plane(plane), page)

    def collect(self, die: Die, plane: int) -> Steps:
        """Start the next command of the round that runs in the plane, and a round if none is running."""
        life = self.device.life
        if self.device.levels_next(plane):
            if not self.device.start_levelling(plane):
                return
        elif self.device.leader_of(plane) is None:
            if not life.can_collect(plane):
                life.give_up(plane)
                self.check_life()
                return
            self.device.start_round(plane, (yield plane))
        pages = self.device.move_next(plane)
        if pages:
            phases = self.commands.move(pages)
        else:
            self.device.erase(plane)
            self.check_life()
            phases = self.commands.erase()
        self.start_gc(die, phases)
