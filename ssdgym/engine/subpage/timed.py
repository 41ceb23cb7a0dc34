"""How the sub-page family starts and admits requests in time, and what an ended command is for."""

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, OK
from ssdgym.engine.decisions import status_of
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
from ssdgym.engine.subpage.pages import count_sectors, full_mask
from ssdgym.engine.subpage.queues import (
    new_transaction,
    queue_after_reads,
    queue_main_write,
    queue_reads,
    queue_region_write,
    write_done,
)
from ssdgym.engine.subpage.scheduler import is_answered, read_ended
from ssdgym.engine.subpage.state import FGM, HOST_READ, LIST_WRITE, SUBPAGE_WRITE
from ssdgym.engine.subpage.writes import (
    begin_write,
    count_reads,
    needs_place,
    note_rmw,
    others_of,
    part_of,
    trim_part,
)
from ssdgym.engine.time.events import READ_PAGE
from ssdgym.engine.time.transactions import (
    arrived,
    next_request,
    note_parts,
    pages_done,
    start_request,
)
from ssdgym.requests import FLUSH, READ, SYNC, WRITE


@inlined
def _queue_list(dev, number):
    """Queue a write of sectors of any groups, to the main area or to the log."""
    if dev.subpage[0].kind == FGM:
        queue_main_write(dev, number)
    else:
        queue_region_write(dev, number)


@inlined
def _new_write(dev, how, group, mask, slot, pages):
    """Begin a write that brings these sectors of a group."""
    number = np.int64(new_transaction(dev))
    begin_write(dev, number, how, group, mask, slot, pages)
    note_partial(dev, number, count_sectors(mask))
    dev.buffer[0].host_writes += 1
    return number


@kernel
def _leave(dev, how, group, mask, slot, own):
    """Queue the writes of sectors that leave the buffer; `own` are those of the request in `slot`."""
    if how == SUBPAGE_WRITE:
        while mask != 0:
            one = mask & -mask
            waits = own & one != 0
            number = _new_write(dev, how, group, one, slot if waits else np.int64(-1), np.int64(waits))
            queue_region_write(dev, number)
            mask &= mask - 1
        return
    number = _new_write(dev, how, group, mask, slot, count_sectors(own))
    if how == LIST_WRITE:
        _queue_list(dev, number)
    else:
        note_rmw(dev, number)
        queue_after_reads(dev, number, group, others_of(dev, number))


@inlined
def _flush_oldest(dev):
    """Queue what came first to the buffer; return OK or the decision it needs."""
    group = np.int64(dev.entry[dev.buffer[0].head].group)
    nobody = np.int64(-1)
    if gathers(dev):
        number = np.int64(new_transaction(dev))
        begin_write(dev, number, LIST_WRITE, group, np.int64(0), nobody, np.int64(0))
        carry_oldest(dev, number)
        dev.buffer[0].host_writes += 1
        _queue_list(dev, number)
        return np.int64(OK)
    mask = waiting_of(dev, group)
    how = way_out(dev, group, mask)
    if how < 0:
        return status_of(dev, how)
    drop_entry(dev, group)
    _leave(dev, how, group, mask, nobody, np.int64(0))
    return np.int64(OK)


@inlined
def _admit_write(dev, request, group, mask, count):
    if needs_place(dev, request, group, mask):
        status = _flush_oldest(dev)
        return np.int64(AGAIN) if status == OK else status
    sync = request.flags & SYNC
    dirty = waiting_of(dev, group) | mask
    leaves = sync or dirty == full_mask(dev)
    how = way_out(dev, group, dirty) if leaves else np.int64(0)
    if how < 0:
        return status_of(dev, how)
    promise(dev, group, mask)
    slot = np.int64(dev.control[0].slot)
    if leaves:
        drop_entry(dev, group)
        _leave(dev, how, group, dirty, slot if sync else np.int64(-1), mask)
    else:
        set_waiting(dev, group, dirty)
    if not sync:
        pages_done(dev, slot, count)
    return np.int64(OK)


@inlined
def _admit_read(dev, group, mask, count):
    slot = np.int64(dev.control[0].slot)
    wanted = count_reads(dev, group, mask)
    left = count_sectors(wanted)
    if count > left:
        pages_done(dev, slot, count - left)
    queue_reads(dev, group, wanted, HOST_READ, slot, -1)


@inlined
def admit_part(dev, request):
    """Admit the next part of the request in admission; return OK, AGAIN, or the decision it needs."""
    control = dev.control[0]
    group, mask, count = part_of(dev, request)
    if request.op == WRITE:
        status = _admit_write(dev, request, group, mask, count)
        if status != OK:
            return status
    elif request.op == READ:
        _admit_read(dev, group, mask, count)
    else:
        trim_part(dev, group, mask)
        pages_done(dev, np.int64(control.slot), count)
    control.offset += count
    if control.offset == request.pages:
        next_request(control)
    return np.int64(OK)


@inlined
def page_ended(dev, die_number, number, command):
    """Finish a read or a write whose command has ended."""
    if dev.transaction[number].request >= 0:
        note_parts(dev, die_number, number, np.int64(dev.transaction[number].request))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        write_done(dev, number)


@inlined
def _is_over(dev):
    """Return whether nothing that the host has written is on its way to flash."""
    return dev.buffer[0].count == 0 and dev.buffer[0].host_writes == 0


@inlined
def start_next(dev, requests):
    """Start a request that may have arrived, or, for one of a flush, do what it waits for."""
    params = dev.params[0]
    control = dev.control[0]
    request = requests[control.cursor]
    if request.op == FLUSH and not _is_over(dev):
        here = params.queue_depth > 0 or request.arrival_ns <= control.now
        if not here or dev.buffer[0].count == 0:
            return np.int64(AGAIN)
        return _flush_oldest(dev)
    if not arrived(params, control, request):
        return np.int64(AGAIN)
    start_request(dev, request)
    return np.int64(OK)


@inlined
def has_window(dev):
    """Return whether transactions are free for the writes and reads of a part, and no decision goes first."""
    least = 2 * (np.int64(dev.subpage[0].slots) + 1)
    return dev.control[0].free_transactions >= least and not is_answered(dev)
