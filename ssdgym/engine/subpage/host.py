"""Parts of requests in the sub-page family; a part is the sectors of a request in one group.

Untimed devices carry parts out, event-driven devices admit them.
"""

from typing import Any

import numpy as np

from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import lowest_of
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, NO_WORK, OK, STUCK
from ssdgym.engine.decisions import PENDING, status_of
from ssdgym.engine.loop import lpn_of
from ssdgym.engine.rounds import collect
from ssdgym.engine.subpage import queues, region, runs, writes
from ssdgym.engine.subpage.buffer import (
    carry_oldest,
    count_small,
    drop_entry,
    is_full,
    promise,
    set_waiting,
    waiting_of,
)
from ssdgym.engine.subpage.pages import count_sectors, full_mask, read_page, together
from ssdgym.engine.subpage.passes import ADVANCE, COLLECT, prepare
from ssdgym.engine.subpage.region import WAITS
from ssdgym.engine.subpage.scheduler import is_answered, read_ended
from ssdgym.engine.subpage.state import (
    FGM,
    GROUP_WRITE,
    HOST_READ,
    LIST_WRITE,
    SECTOR_LOG,
    SUBFTL,
    SUBPAGE_WRITE,
)
from ssdgym.engine.time.events import READ_PAGE
from ssdgym.engine.time.transactions import arrived, note_parts, pages_done, start_request
from ssdgym.requests import FLUSH, SYNC


def _writing_kernels(start_list: Any, leave: Any) -> tuple[Any, Any]:
    """Make the kernels (flush_oldest, write_part) that fill and empty the buffer.

    Both return OK or a decision that is due; `write_part` returns AGAIN if other sectors had to leave first.

    Args:
        start_list: kernel (device, oldest group) that starts a write of the oldest sectors.
        leave: kernel (device, kind of write, group, mask of the sectors that leave, whether they are less
            than a page, slot of a request that waits or -1, mask of its sectors) that starts their writes.
    """

    @kernel
    def leave_both_ways(dev, group, mask, rest, small, slot, own):
        """Start writes of the sectors `mask`: of `rest` to the region, of the others to the main area."""
        count_small(dev, count_sectors(small))
        main = mask & ~rest
        if main != 0:
            waits = slot if own & main != 0 else np.int64(-1)
            leave(dev, np.int64(GROUP_WRITE), group, main, main & ~small == 0, waits, own & main)
        if rest != 0:
            leave(dev, np.int64(SUBPAGE_WRITE), group, rest, True, slot, own & rest)

    @inlined
    def flush_oldest(dev):
        group = np.int64(dev.entry[dev.buffer[0].head].group)
        if dev.subpage[0].kind in (FGM, SECTOR_LOG):
            start_list(dev, group)
            return np.int64(OK)
        mask = waiting_of(dev, group)
        rest = np.int64(0)
        if dev.subpage[0].kind == SUBFTL:
            rest = np.int64(runs.region_part(dev, group, mask))
            if rest < 0:
                return status_of(dev, rest)
        drop_entry(dev, group)
        leave_both_ways(dev, group, mask, rest, mask, np.int64(-1), np.int64(0))
        return np.int64(OK)

    @inlined
    def make_place(dev):
        status = flush_oldest(dev)
        return np.int64(AGAIN) if status == OK else status

    @inlined
    def write_part(dev, request):
        group, mask, _ = writes.part_of(dev, request)
        if dev.subpage[0].kind == SUBFTL:
            # With `subftl`, the length of the run says where the part goes.
            lpn = np.int64(lpn_of(dev, request))
            if not runs.run_leaves(dev, request, lpn):
                if waiting_of(dev, group) == 0 and is_full(dev):
                    return make_place(dev)
                promise(dev, group, mask)
                set_waiting(dev, group, waiting_of(dev, group) | mask)
                return np.int64(OK)
            beside = np.int64(runs.group_beside(dev, request, lpn))
            if beside >= 0:
                group, mask = beside, np.int64(0)
            dirty = runs.leaving_of(dev, group, mask)
            small = dirty & ~runs.whole_pages_of(dev, group, dirty)
            rest = np.int64(runs.region_part(dev, group, small))
            if rest < 0:
                return status_of(dev, rest)
            if mask != 0:
                promise(dev, group, mask)
                count = count_sectors(mask)
                buffer = dev.buffer[0]
                buffer.run_next = lpn + count
                buffer.run_offset = dev.control[0].offset + count
            set_waiting(dev, group, waiting_of(dev, group) & ~dirty)
            slot = np.int64(dev.control[0].slot) if request.flags & SYNC and mask != 0 else np.int64(-1)
            leave_both_ways(dev, group, dirty, rest, small, slot, mask)
            return np.int64(OK if mask != 0 else AGAIN)
        # With other kinds, only the sectors of this group matter.
        if writes.needs_place(dev, request, group, mask):
            return make_place(dev)
        sync = request.flags & SYNC
        dirty = waiting_of(dev, group) | mask
        promise(dev, group, mask)
        if not sync and dirty != full_mask(dev):
            set_waiting(dev, group, dirty)
            return np.int64(OK)
        drop_entry(dev, group)
        partial = dirty != full_mask(dev)
        if partial:
            count_small(dev, count_sectors(dirty))
        slot = np.int64(dev.control[0].slot) if sync else np.int64(-1)
        kind = dev.subpage[0].kind
        is_list = kind == FGM or (kind == SECTOR_LOG and dirty != full_mask(dev))
        how = np.int64(LIST_WRITE if is_list else GROUP_WRITE)
        leave(dev, how, group, dirty, partial, slot, mask)
        return np.int64(OK)

    return flush_oldest, write_part


@inlined
def part_pages(dev, request):
    """Return the number of sectors of the next part of a request."""
    return writes.part_of(dev, request)[2]


# -- untimed

#: The transaction of the write under way.
_WRITE = 0


@inlined
def _begin_list(dev, group):
    """Start a write of the oldest sectors in the buffer."""
    dev.buffer[0].writing = 1
    dev.buffer[0].write_plane = -1
    writes.begin_write(dev, np.int64(_WRITE), LIST_WRITE, group, np.int64(0), np.int64(-1), np.int64(0))
    carry_oldest(dev, np.int64(_WRITE))


@inlined
def _begin(dev, how, group, mask, partial, slot, own):
    """Begin a write of the sectors `mask` of a group; if a write is under way, store the mask for later."""
    buffer = dev.buffer[0]
    if buffer.writing:
        buffer.follows = mask
        return
    buffer.writing = 1
    buffer.write_plane = -1
    writes.begin_write(dev, np.int64(_WRITE), how, group, mask, np.int64(-1), np.int64(0))
    dev.transaction[_WRITE].partial = partial
    writes.note_rmw(dev, np.int64(_WRITE))


@inlined
def _end_write(dev):
    """End the write under way; begin the write of sectors that were stored for later, if any."""
    buffer = dev.buffer[0]
    buffer.writing = 0
    buffer.write_plane = -1
    mask = np.int64(buffer.follows)
    if mask != 0:
        buffer.follows = 0
        group = np.int64(dev.transaction[_WRITE].group)
        _begin(dev, np.int64(SUBPAGE_WRITE), group, mask, True, np.int64(-1), np.int64(0))


_begin_oldest, do_write = _writing_kernels(_begin_list, _begin)


@inlined
def do_read(dev, request):
    """Read the next part of a request."""
    group, mask, _ = writes.part_of(dev, request)
    wanted = writes.count_reads(dev, group, mask)
    while wanted != 0:
        read = together(dev, group, wanted)
        read_page(dev, group, read)
        wanted &= ~read


@inlined
def do_flush(dev):
    """Start a write of the oldest buffered sectors; return whether the buffer was empty, and a status."""
    if dev.buffer[0].count == 0:
        return True, np.int64(OK)
    return False, np.int64(_begin_oldest(dev))


@inlined
def _program_region(dev, plane):
    """Program the next sector, or the page, of the write under way to a region that is READY."""
    buffer, write = dev.buffer[0], dev.transaction[_WRITE]
    buffer.write_plane = -1
    if write.kind == LIST_WRITE:
        region.program_log_page(dev, plane, np.int64(_WRITE))
        buffer.writing = 0
        return np.int64(OK)
    s = lowest_of(np.int64(write.mask))
    sector = dev.carried[s]
    write.mask &= write.mask - 1
    buffer.writing = write.mask != 0
    return region.program_subpage(
        dev, plane, np.int64(_WRITE), np.int64(sector.lpn), np.int64(sector.version)
    )


@kernel
def _write_to_region(dev):
    """Carry out the next step of a write to a region; return OK, a decision that is due, or an error."""
    buffer = dev.buffer[0]
    if buffer.write_plane < 0:
        buffer.write_plane, _ = queues.bind_region(dev)
    plane = np.int64(buffer.write_plane)
    outcome = np.int64(prepare(dev, plane))
    if outcome == ADVANCE:
        return np.int64(region.advance(dev, plane))
    if outcome == COLLECT:
        status = np.int64(region.collect_step(dev, plane))
        if status == PENDING:
            return status_of(dev, status)
        if is_over(dev):
            return np.int64(END_OF_LIFE)
        return np.int64(STUCK if status == WAITS else OK) if status >= 0 else status
    return _program_region(dev, plane)


@kernel
def _drops(dev):
    """Drop given-up sectors from the write under way; if no sector is left, end the write and return True."""
    buffer, write = dev.buffer[0], dev.transaction[_WRITE]
    if not dev.params[0].shrinks or not buffer.writing:
        return False
    while write.kind == SUBPAGE_WRITE and write.mask != 0:
        sector = dev.carried[lowest_of(np.int64(write.mask))]
        if sector.version > dev.logical[sector.lpn].version:
            return False
        write.mask &= write.mask - 1
        buffer.write_plane = -1
    if write.kind != SUBPAGE_WRITE and not writes.is_void(dev, np.int64(_WRITE)):
        return False
    _end_write(dev)
    return True


@inlined
def _has_work(dev):
    buffer = dev.buffer[0]
    return dev.control[0].gc_plane >= 0 or buffer.sweep_plane >= 0 or buffer.writing


@inlined
def is_at_horizon(dev):
    """Return whether the run ends here: the horizon is reached, and no work is under way."""
    return dev.control[0].admitted_pages >= dev.control[0].horizon and not _has_work(dev)


@inlined
def do_work(dev):
    """Carry out the next step of GC, of a sweep, or of the write under way; return a status or NO_WORK."""
    if not _has_work(dev):
        return np.int64(NO_WORK)
    if dev.control[0].gc_plane >= 0:
        return np.int64(collect(dev))
    if dev.params[0].endures and (writes.collects_first(dev) or _drops(dev)):
        return np.int64(OK)
    if dev.buffer[0].sweep_plane >= 0:
        return np.int64(region.sweep_step(dev))
    write = dev.transaction[_WRITE]
    if write.kind == SUBPAGE_WRITE or (write.kind == LIST_WRITE and dev.subpage[0].kind != FGM):
        return np.int64(_write_to_region(dev))
    status = np.int64(writes.write_now(dev, np.int64(_WRITE)))
    _end_write(dev)
    return status


# -- event-driven


@inlined
def _queue_list(dev, number):
    """Queue a write of sectors of any groups, to the main area or to the log."""
    if dev.subpage[0].kind == FGM:
        queues.queue_main_write(dev, number)
    else:
        queues.queue_region_write(dev, number)


@inlined
def _admit_list(dev, group):
    """Queue a write of the oldest sectors in the buffer."""
    number = np.int64(queues.new_transaction(dev))
    writes.begin_write(dev, number, LIST_WRITE, group, np.int64(0), np.int64(-1), np.int64(0))
    carry_oldest(dev, number)
    dev.buffer[0].host_writes += 1
    _queue_list(dev, number)


@inlined
def _new_write(dev, how, group, mask, partial, slot, pages):
    """Take a transaction for a write of the sectors `mask` of a group; return its number."""
    number = np.int64(queues.new_transaction(dev))
    writes.begin_write(dev, number, how, group, mask, slot, pages)
    dev.transaction[number].partial = partial
    dev.buffer[0].host_writes += 1
    return number


@kernel
def _leave(dev, how, group, mask, partial, slot, own):
    """Queue the writes of sectors `mask`, which leave the buffer; request `slot` waits for sectors `own`."""
    if how == SUBPAGE_WRITE:
        while mask != 0:
            one = mask & -mask
            waits = own & one != 0
            number = _new_write(
                dev, how, group, one, partial, slot if waits else np.int64(-1), np.int64(waits)
            )
            queues.queue_region_write(dev, number)
            mask &= mask - 1
        return
    number = _new_write(dev, how, group, mask, partial, slot, count_sectors(own))
    if how == LIST_WRITE:
        _queue_list(dev, number)
    else:
        writes.note_rmw(dev, number)
        queues.queue_after_reads(dev, number, group, writes.others_of(dev, number))


_queue_oldest, _admit_part = _writing_kernels(_admit_list, _leave)


@inlined
def admit_write(dev, request):
    """Admit the next part of a write; it is done at once unless the host waits for flash (SYNC)."""
    status = _admit_part(dev, request)
    if status == OK and not request.flags & SYNC:
        pages_done(dev, np.int64(dev.control[0].slot), part_pages(dev, request))
    return status


@inlined
def admit_read(dev, request):
    """Admit the next part of a read."""
    slot = np.int64(dev.control[0].slot)
    group, mask, count = writes.part_of(dev, request)
    wanted = writes.count_reads(dev, group, mask)
    left = count_sectors(wanted)
    if count > left:
        pages_done(dev, slot, count - left)
    queues.queue_reads(dev, group, wanted, HOST_READ, slot, -1)


@inlined
def page_ended(dev, die_number, number, command):
    """Finish a read or a write whose command has ended."""
    if dev.transaction[number].request >= 0:
        note_parts(dev, die_number, number, np.int64(dev.transaction[number].request))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        queues.write_done(dev, number)


@inlined
def start_next(dev, requests):
    """Start the next request if it has arrived; a flush first empties the buffer and awaits host writes."""
    params, control = dev.params[0], dev.control[0]
    request = requests[control.cursor]
    if request.op == FLUSH and (dev.buffer[0].count > 0 or dev.buffer[0].host_writes > 0):
        here = params.queue_depth > 0 or request.arrival_ns <= control.now
        if not here or dev.buffer[0].count == 0:
            return np.int64(AGAIN)
        return _queue_oldest(dev)
    if not arrived(params, control, request):
        return np.int64(AGAIN)
    start_request(dev, request)
    return np.int64(OK)


@inlined
def has_window(dev):
    """Return whether enough transactions are free for a part, and no collection has to continue first."""
    least = 2 * (np.int64(dev.subpage[0].slots) + 1)
    return dev.control[0].free_transactions >= least and not is_answered(dev)
