"""How the page family starts and admits requests in time, and what an ended command is for."""

import numpy as np

from ssdgym.engine.core.kernel import inlined, kernel, prefetch
from ssdgym.engine.core.status import AGAIN, OK
from ssdgym.engine.flash import die_of
from ssdgym.engine.page.buffer import (
    drop_page,
    hold_page,
    is_held_in_part,
    oldest_page,
    page_to_evict,
    serve_read,
)
from ssdgym.engine.page.scheduler import queue_read, queue_write, read_ended
from ssdgym.engine.page.writes import host_trim, prefetch_requests
from ssdgym.engine.time.events import READ_PAGE
from ssdgym.engine.time.transactions import (
    arrived,
    is_partial,
    next_request,
    note_parts,
    page_done,
    start_request,
    take_flush_slot,
    take_transaction,
    transaction_done,
)
from ssdgym.requests import FLUSH, READ, WRITE


@inlined
def _admit_read(dev, lpn):
    params = dev.params[0]
    control = dev.control[0]
    dev.counters[0].host_reads += 1
    ppn = np.int64(dev.logical[lpn].ppn)
    if serve_read(dev, lpn):
        page_done(dev, np.int64(control.slot))
    elif dev.in_flight[lpn] > 0:
        dev.counters[0].queue_hits += 1
        page_done(dev, np.int64(control.slot))
    elif ppn < 0:
        dev.counters[0].unmapped_reads += 1
        page_done(dev, np.int64(control.slot))
    else:
        transaction = take_transaction(dev, lpn, 0, control.slot, 0)
        prefetch(dev.physical, ppn)
        queue_read(dev, die_of(params, ppn), transaction)


@inlined
def _send_to_flash(dev, lpn, partial):
    """Admit a page for flash, for the request in admission."""
    params = dev.params[0]
    control = dev.control[0]
    ppn = np.int64(dev.logical[lpn].ppn)
    read_first = partial and ppn >= 0 and dev.in_flight[lpn] == 0
    dev.in_flight[lpn] += 1
    version = dev.logical[lpn].version + dev.in_flight[lpn]
    transaction = take_transaction(dev, lpn, version, control.slot, read_first)
    if read_first:
        queue_read(dev, die_of(params, ppn), transaction)
    else:
        queue_write(dev, transaction)


@kernel
def _write_back(dev, lpn):
    """Let a page leave the write buffer."""
    partial = is_held_in_part(dev, lpn)
    drop_page(dev, lpn)
    _send_to_flash(dev, lpn, partial)


@inlined
def _admit_write(dev, lpn, partial):
    control = dev.control[0]
    control.admitted_pages += 1
    if dev.params[0].buffer_pages == 0:
        _send_to_flash(dev, lpn, partial)
        return
    leaving = page_to_evict(dev, lpn)
    if leaving >= 0:
        _write_back(dev, leaving)
    hold_page(dev, lpn, np.int64(partial))
    if leaving < 0:
        page_done(dev, np.int64(control.slot))


@kernel
def _start_write_back(dev, request):
    """Give a flush a slot for the pages that the write buffer holds; the flush itself starts after them."""
    dev.control[0].slot = take_flush_slot(dev, request, dev.buffer[0].held)


@inlined
def admit_page(dev, request):
    """Admit the next page of the request in admission."""
    control = dev.control[0]
    if request.op == FLUSH:
        _write_back(dev, oldest_page(dev))
        if oldest_page(dev) < 0:
            control.slot = -1
        return np.int64(OK)
    lpn = np.int64(request.lpn) + control.offset
    if request.op == WRITE:
        _admit_write(dev, lpn, is_partial(request, control.offset))
    elif request.op == READ:
        _admit_read(dev, lpn)
    else:
        host_trim(dev, lpn)
        page_done(dev, np.int64(control.slot))
    control.offset += 1
    if control.offset == request.pages:
        next_request(control)
    return np.int64(OK)


@inlined
def start_next(dev, requests):
    """Start the next request if it has arrived; a flush writes back what the buffer holds first."""
    control = dev.control[0]
    if not arrived(dev.params[0], control, requests[control.cursor]):
        return np.int64(AGAIN)
    prefetch_requests(dev, requests)
    request = requests[control.cursor]
    if request.op == FLUSH and oldest_page(dev) >= 0:
        _start_write_back(dev, request)
    else:
        start_request(dev, request)
    return np.int64(OK)


@inlined
def page_ended(dev, die_number, number, command):
    """Finish a read or a write whose command has ended."""
    note_parts(dev, die_number, number, np.int64(dev.transaction[number].slot))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        transaction_done(dev, number)
