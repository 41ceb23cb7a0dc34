"""How the sub-page family carries out parts of requests without time, counting only."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, pass_die, pass_plane, plane_from_cursor
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, NO_WORK, OK, STUCK
from ssdgym.engine.decisions import PENDING, status_of
from ssdgym.engine.erase.legality import gc_unfinished
from ssdgym.engine.rounds import ensure_round
from ssdgym.engine.subpage.buffer import (
    carry_oldest,
    drop_entry,
    gathers,
    note_partial,
    promise,
    set_waiting,
    waiting_of,
    way_out,
)
from ssdgym.engine.subpage.gc_round import run_round
from ssdgym.engine.subpage.pages import count_sectors, full_mask, lowest_of
from ssdgym.engine.subpage.region import (
    ADVANCE,
    COLLECT,
    WAITS,
    advance,
    collect_step,
    prepare,
    program_log_page,
    program_subpage,
    sweep_step,
)
from ssdgym.engine.subpage.state import FGM, LIST_WRITE, SUBPAGE_WRITE
from ssdgym.engine.subpage.writes import (
    begin_write,
    count_reads,
    needs_place,
    note_rmw,
    part_of,
    read_page,
    together,
    trim_part,
    write_now,
)
from ssdgym.engine.time.transactions import pass_request
from ssdgym.requests import FLUSH, READ, SYNC, WRITE

#: The transaction of the write that is carried out.
_WRITE = 0


@inlined
def _begin(dev, how, group, mask):
    """Begin to carry out a write of these sectors of a group."""
    dev.buffer[0].writing = 1
    dev.buffer[0].write_plane = -1
    begin_write(dev, np.int64(_WRITE), how, group, mask, np.int64(-1), np.int64(0))
    note_partial(dev, np.int64(_WRITE), count_sectors(mask))
    note_rmw(dev, np.int64(_WRITE))


@inlined
def _flush_oldest(dev):
    """Begin to carry out a write of what came first to the buffer; return OK or the decision it needs."""
    group = np.int64(dev.entry[dev.buffer[0].head].group)
    if gathers(dev):
        dev.buffer[0].writing = 1
        dev.buffer[0].write_plane = -1
        begin_write(dev, np.int64(_WRITE), LIST_WRITE, group, np.int64(0), np.int64(-1), np.int64(0))
        carry_oldest(dev, np.int64(_WRITE))
        return np.int64(OK)
    mask = waiting_of(dev, group)
    how = way_out(dev, group, mask)
    if how < 0:
        return status_of(dev, how)
    drop_entry(dev, group)
    _begin(dev, how, group, mask)
    return np.int64(OK)


@inlined
def _write_part(dev, request, group, mask):
    if needs_place(dev, request, group, mask):
        status = _flush_oldest(dev)
        return np.int64(AGAIN) if status == OK else status
    dirty = waiting_of(dev, group) | mask
    leaves = request.flags & SYNC or dirty == full_mask(dev)
    how = way_out(dev, group, dirty) if leaves else np.int64(0)
    if how < 0:
        return status_of(dev, how)
    promise(dev, group, mask)
    if leaves:
        drop_entry(dev, group)
        _begin(dev, how, group, dirty)
    else:
        set_waiting(dev, group, dirty)
    return np.int64(OK)


@inlined
def _read_part(dev, group, mask):
    wanted = count_reads(dev, group, mask)
    while wanted != 0:
        read = together(dev, group, wanted)
        read_page(dev, group, read)
        wanted &= ~read


@inlined
def _do_part(dev, request):
    """Carry out the next part of a request."""
    control = dev.control[0]
    group, mask, count = part_of(dev, request)
    if request.op == WRITE:
        status = _write_part(dev, request, group, mask)
        if status != OK:
            return status
    elif request.op == READ:
        _read_part(dev, group, mask)
    else:
        trim_part(dev, group, mask)
    control.offset += count
    if control.offset == request.pages:
        pass_request(control)
    return np.int64(OK)


@inlined
def _collect(dev):
    """Carry out one round of GC of the main area, or return the decision it needs."""
    control = dev.control[0]
    number = np.int64(control.gc_plane)
    status = ensure_round(dev, number)
    if status == OK:
        status = run_round(dev, number)
    if status == OK and not gc_unfinished(dev.params[0], dev.plane[number]):
        control.gc_plane = -1
    return status


@inlined
def _bind_region(dev):
    """Return the plane to whose region the next part of a write goes."""
    die_number = np.int64(allocate_die(dev))
    plane = plane_from_cursor(dev, die_number, 0)
    pass_die(dev, die_number)
    pass_plane(dev, plane)
    return plane


@inlined
def _program_region(dev, plane):
    """Program what comes next of the write to a region that is ready for it."""
    buffer = dev.buffer[0]
    write = dev.transaction[_WRITE]
    buffer.write_plane = -1
    if write.kind == LIST_WRITE:
        program_log_page(dev, plane, np.int64(_WRITE))
        buffer.writing = 0
        return np.int64(OK)
    s = lowest_of(np.int64(write.mask))
    sector = dev.carried[s]
    write.mask &= write.mask - 1
    buffer.writing = write.mask != 0
    return program_subpage(dev, plane, np.int64(_WRITE), np.int64(sector.lpn), np.int64(sector.version))


@kernel
def _write_to_region(dev):
    """Carry out the next step of a write to a region; return OK, or the decision it needs."""
    buffer = dev.buffer[0]
    if buffer.write_plane < 0:
        buffer.write_plane = _bind_region(dev)
    plane = np.int64(buffer.write_plane)
    outcome = np.int64(prepare(dev, plane))
    if outcome == ADVANCE:
        return np.int64(advance(dev, plane))
    if outcome == COLLECT:
        status = np.int64(collect_step(dev, plane))
        if status == PENDING:
            return status_of(dev, status)
        return np.int64(STUCK if status == WAITS else OK) if status >= 0 else status
    return _program_region(dev, plane)


@inlined
def _go_on_writing(dev):
    """Carry out the next step of the write under way."""
    write = dev.transaction[_WRITE]
    if write.kind == SUBPAGE_WRITE or (write.kind == LIST_WRITE and dev.subpage[0].kind != FGM):
        return np.int64(_write_to_region(dev))
    dev.buffer[0].writing = 0
    return write_now(dev, np.int64(_WRITE))


@inlined
def _has_work(dev):
    buffer = dev.buffer[0]
    return dev.control[0].gc_plane >= 0 or buffer.sweep_plane >= 0 or buffer.writing


@inlined
def is_at_horizon(dev):
    """Return whether the run ends here: a write under way is finished first."""
    return dev.control[0].admitted_pages >= dev.control[0].horizon and not _has_work(dev)


@inlined
def do_work(dev):
    """Carry out the next step of what is under way."""
    if not _has_work(dev):
        return np.int64(NO_WORK)
    if dev.control[0].gc_plane >= 0:
        return np.int64(_collect(dev))
    if dev.buffer[0].sweep_plane >= 0:
        return np.int64(sweep_step(dev))
    return np.int64(_go_on_writing(dev))


@inlined
def do_next(dev, requests):
    """Carry out the next page of a request, or a flush."""
    control = dev.control[0]
    request = requests[control.cursor]
    if request.op != FLUSH:
        return np.int64(_do_part(dev, request))
    if dev.buffer[0].count > 0:
        return np.int64(_flush_oldest(dev))
    pass_request(control)
    return np.int64(OK)
