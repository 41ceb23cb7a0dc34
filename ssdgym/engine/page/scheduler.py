"""The scheduler: choose an idle die's next command: host read, host write, foreground or background GC."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, allocate_plane, pass_die, pass_plane, redirect_write
from ssdgym.engine.blocks.index import prefetch_holder
from ssdgym.engine.blocks.manager import ensure_open
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import quotient, remainder
from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.core.records import DYNAMIC, LATE, MAX_STREAMS, STATIC
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import IDLES, status_of
from ssdgym.engine.flash import Phases, die_of, erase_phases, move_phases, plane_of, read_phases, write_phases
from ssdgym.engine.loop import read_ended
from ssdgym.engine.page.collecting import background_plane, idle_plane, takes_host_pages, wake_up
from ssdgym.engine.page.gc_round import finish_round, move_command
from ssdgym.engine.page.levelling import levelling_plane, levels_next, start_levelling
from ssdgym.engine.page.placement import by_request, host_stream, note_request, plane_for_host, replace_page
from ssdgym.engine.page.writes import host_read, join_writes, next_write, program, take_write
from ssdgym.engine.rounds import collecting_plane, ensure_round, has_round, is_short
from ssdgym.engine.time import events, transactions
from ssdgym.engine.time.events import ERASE_SET, MOVE_PAGE, READ_PAGE, WRITE_PAGE


@inlined
def queue_read(dev, transaction):
    """Queue a page read to the die that holds the page."""
    params = dev.params[0]
    ppn = np.int64(dev.logical[dev.transaction[transaction].lpn].ppn)
    prefetch(dev.physical, ppn)
    die_number = die_of(params, ppn)
    transactions.queue_read(dev, die_number, transaction, read_phases(params))


@inlined
def queue_write(dev, transaction):
    """Queue a page write to its die or, under late allocation, to the write queue of the device."""
    params = dev.params[0]
    if params.targets:
        prefetch_holder(dev, np.int64(dev.transaction[transaction].lpn))
    if params.allocation == LATE:
        transactions.push_write(dev, dev.control[0], transaction)
        return
    if params.allocation == DYNAMIC:
        die_number = allocate_die(dev)
        pass_die(dev, die_number)
    else:
        die_number = remainder(dev.transaction[transaction].lpn, params.dies)
    transactions.queue_write(dev, die_number, dev.die[die_number], transaction, write_phases(params, 1))


@inlined
def _read_now(dev, number, lpn):
    dev.counters[0].rmw_reads += dev.transaction[number].rmw
    host_read(dev, lpn)


@kernel
def _join_reads(dev, die_number, first, ppn):
    """Let the next reads, in other planes, join the command of read `first`; return its number of pages."""
    params = dev.params[0]
    row = remainder(ppn, params.pages_per_block)
    members = np.uint64(1) << np.uint64(quotient(plane_of(params, ppn), params.dies))
    last = first
    for pages in range(1, params.planes_per_die):
        number = np.int64(dev.die[die_number].read_head)
        if number < 0:
            return np.int64(pages)
        lpn = np.int64(dev.transaction[number].lpn)
        page = np.int64(dev.logical[lpn].ppn)
        if page < 0 or die_of(params, page) != die_number or remainder(page, params.pages_per_block) != row:
            return np.int64(pages)
        member = np.uint64(1) << np.uint64(quotient(plane_of(params, page), params.dies))
        if members & member:
            return np.int64(pages)
        transactions.pop_read(dev, die_number)
        _read_now(dev, number, lpn)
        dev.counters[0].joined_reads += 1
        members |= member
        transactions.link_pages(dev, last, number)
        last = number
    return np.int64(params.planes_per_die)


@inlined
def _plane_of_write(dev, die_number, number):
    """Return the plane of write `number` of a die; -1 if no plane of the die has room (not with static)."""
    params = dev.params[0]
    if params.allocation == STATIC:
        return remainder(dev.transaction[number].lpn, params.planes)
    return plane_for_host(dev, die_number)


@inlined
def _has_write(dev, die_number):
    """Return whether a die can start a write; under late allocation a plane of the die must have room."""
    if next_write(dev, die_number) < 0:
        return False
    return dev.params[0].allocation != LATE or allocate_plane(dev, die_number) >= 0


@inlined
def _start_write(dev, die_number, plane):
    params = dev.params[0]
    if plane < 0:
        redirect_write(dev, die_number)
        return np.int64(AGAIN)
    if is_short(dev, plane):
        dev.plane[plane].collecting = 1
        dev.counters[0].gc_episodes += 1
        return np.int64(AGAIN)
    transaction = dev.transaction[next_write(dev, die_number)]
    lpn = np.int64(transaction.lpn)
    slot = dev.slot[transaction.slot]
    note_request(dev, slot)
    replace_page(dev, lpn, np.int64(transaction.version))
    target = host_stream(dev, plane, lpn, np.int64(slot.stream) - 1)
    if target < 0:
        return status_of(dev, target)
    status = np.int64(ensure_open(dev, plane, target)) if target < MAX_STREAMS else np.int64(OK)
    if status != OK:
        return status_of(dev, status)
    if by_request(dev):
        transactions.name_stream(dev, transaction.slot, target)
    if params.allocation != STATIC:
        pass_plane(dev, plane)
    number = take_write(dev, die_number)
    ppn = program(dev, plane, target, lpn, np.int64(dev.transaction[number].version))
    pages = np.int64(1)
    if params.multi_plane_writes and ppn >= 0:
        pages = join_writes(dev, die_number, plane, remainder(ppn, params.pages_per_block), number)
    if ppn < 0 or pages < 0:
        return np.int64(OUT_OF_SPACE)
    events.start_command(dev, die_number, WRITE_PAGE, number, pages, write_phases(params, pages))
    return np.int64(OK)


@inlined
def _gc_command(dev, plane_number):
    """Start the next command of a plane's round; if no round runs, start a round first; return a status."""
    params = dev.params[0]
    die_number = remainder(plane_number, params.dies)
    status = np.int64(OK)
    if params.levels and levels_next(dev, plane_number):
        status = np.int64(start_levelling(dev, plane_number))
    if status == OK:
        status = ensure_round(dev, plane_number)
    if status != OK:
        return status
    if not has_round(dev, plane_number):
        return np.int64(END_OF_LIFE if is_over(dev) else AGAIN)
    leader = np.int64(dev.plane[plane_number].round_leader)
    pages = move_command(dev, leader)
    if pages < 0:
        return status_of(dev, pages)
    if pages > 0:
        events.start_gc_command(dev, die_number, MOVE_PAGE, pages, move_phases(params, pages))
    else:
        finish_round(dev, leader)
        if is_over(dev):
            return np.int64(END_OF_LIFE)
        events.start_gc_command(dev, die_number, ERASE_SET, np.int64(0), erase_phases(params))
    return np.int64(OK)


@inlined
def _plane_in_foreground(dev, die_number):
    """Return the die's lowest plane in foreground GC; if none, the lowest with levelling; if none, -1."""
    plane, params = collecting_plane(dev, die_number), dev.params[0]
    return levelling_plane(dev, die_number, params.dies) if plane < 0 and params.levels else plane


@inlined
def _pressing_plane(dev, die_number):
    """Return the die's lowest plane whose foreground GC, or levelling, comes before host writes; or -1.

    If `defers_gc`, only foreground GC in a plane with `pool_pages` below `floor_pool` comes before them.
    """
    params = dev.params[0]
    if not params.defers_gc:
        return _plane_in_foreground(dev, die_number)
    for plane in range(die_number, params.planes, params.dies):
        if dev.plane[plane].collecting and dev.plane[plane].pool_pages < params.floor_pool:
            return np.int64(plane)
    return np.int64(-1)


@inlined
def _plane_before_reads(dev, die_number):
    """With `whole_rounds`, return the die's plane whose GC or running round comes before reads; or -1."""
    params = dev.params[0]
    if not params.reads_first:
        plane = _pressing_plane(dev, die_number)
        if plane >= 0:
            return plane
    for plane in range(die_number, params.planes, params.dies):
        if dev.plane[plane].round_leader >= 0 and not dev.plane[plane].collecting:
            return np.int64(plane)
    return np.int64(-1)


#: Returned in place of the plane of a write: no write is started; no write waits, and IDLE decisions apply.
_NO_WRITE, _IN_IDLE_TIME = -2, -3


@inlined
def _next_planes(dev, die_number):
    """Return the plane that a die collects now, and the plane of the die's next write.

    The first is -1 if the die does not collect now; below -1 it is a code for `status_of`. The second is a
    result of `_plane_of_write`, or _NO_WRITE or _IN_IDLE_TIME.
    """
    params, die = dev.params[0], dev.die[die_number]
    if params.whole_rounds:
        plane = _plane_before_reads(dev, die_number)
        if plane >= 0:
            return plane, np.int64(_NO_WRITE)
    if params.reads_first and die.read_head >= 0:
        return np.int64(-1), np.int64(_NO_WRITE)
    plane = _pressing_plane(dev, die_number)
    if plane >= 0 or die.read_head >= 0:
        return plane, np.int64(_NO_WRITE)
    if _has_write(dev, die_number):
        written = np.int64(_plane_of_write(dev, die_number, next_write(dev, die_number)))
        collects = written >= 0 and not takes_host_pages(dev, written)
        return written if collects else np.int64(-1), written
    if params.defers_gc:
        plane = _plane_in_foreground(dev, die_number)
        if plane >= 0:
            return plane, np.int64(_NO_WRITE)
    plane = np.int64(-1)
    if dev.decider.hooks & IDLES:
        return np.int64(idle_plane(dev, die_number)), np.int64(_IN_IDLE_TIME)
    if params.background_free > 0:
        plane = np.int64(background_plane(dev, die_number, params.background_free))
    return plane, np.int64(_NO_WRITE)


@inlined
def dispatch_die(dev, die_number):
    """Start the next command of an idle die, if any."""
    if dev.die[die_number].idle:
        wake_up(dev, die_number, dev.die[die_number].read_head >= 0 or _has_write(dev, die_number))
    plane, written = _next_planes(dev, die_number)
    if plane >= 0:
        status = np.int64(_gc_command(dev, plane))
        if status == OK and written == _IN_IDLE_TIME:
            die = dev.die[die_number]
            die.idle_steps = 0 if die.command == ERASE_SET else die.idle_steps - 1
        return status
    if plane != -1:
        return status_of(dev, plane)
    if dev.die[die_number].read_head >= 0:
        params = dev.params[0]
        number = transactions.pop_read(dev, die_number)
        lpn = np.int64(dev.transaction[number].lpn)
        ppn = np.int64(dev.logical[lpn].ppn)
        rmw = dev.transaction[number].rmw
        if ppn < 0:  # trimmed while the read was waiting
            dev.counters[0].unmapped_reads += 1 - rmw
            read_ended(dev, number)
            return AGAIN
        if die_of(params, ppn) != die_number:
            queue_read(dev, number)
            return AGAIN
        _read_now(dev, number, lpn)
        pages = np.int64(1)
        if params.multi_plane_reads:
            pages = np.int64(_join_reads(dev, die_number, number, ppn))
        phases = read_phases(params)
        phases = Phases(phases.array_ns, phases.transfer_ns * pages, phases.after_ns)
        events.start_command(dev, die_number, READ_PAGE, number, pages, phases)
        return OK
    if written > _NO_WRITE:
        return _start_write(dev, die_number, written)
    return OK
