"""How the block family starts and admits requests in time, and what an ended command is for."""

import numpy as np

from ssdgym.engine.block.scheduler import queue_read, queue_write, read_ended
from ssdgym.engine.block.writes import trim
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import AGAIN, OK
from ssdgym.engine.time.events import READ_PAGE
from ssdgym.engine.time.transactions import (
    arrived,
    is_partial,
    next_request,
    note_parts,
    page_done,
    start_request,
    take_transaction,
    transaction_done,
)
from ssdgym.requests import READ, WRITE


@inlined
def _admit_read(dev, lpn):
    control = dev.control[0]
    dev.counters[0].host_reads += 1
    if dev.in_flight[lpn] > 0:
        dev.counters[0].queue_hits += 1
        page_done(dev, np.int64(control.slot))
    elif dev.logical[lpn].ppn < 0:
        dev.counters[0].unmapped_reads += 1
        page_done(dev, np.int64(control.slot))
    else:
        queue_read(dev, take_transaction(dev, lpn, 0, control.slot, 0))


@inlined
def _admit_write(dev, lpn, partial):
    control = dev.control[0]
    control.admitted_pages += 1
    read_first = partial and dev.logical[lpn].ppn >= 0 and dev.in_flight[lpn] == 0
    dev.in_flight[lpn] += 1
    version = dev.logical[lpn].version + dev.in_flight[lpn]
    number = take_transaction(dev, lpn, version, control.slot, read_first)
    if read_first:
        queue_read(dev, number)
    else:
        queue_write(dev, number)


@inlined
def admit_page(dev, request):
    """Admit the next page of the request in admission."""
    control = dev.control[0]
    lpn = np.int64(request.lpn) + control.offset
    if request.op == WRITE:
        _admit_write(dev, lpn, is_partial(request, control.offset))
    elif request.op == READ:
        _admit_read(dev, lpn)
    else:
        trim(dev, lpn)
        page_done(dev, np.int64(control.slot))
    control.offset += 1
    if control.offset == request.pages:
        next_request(control)
    return np.int64(OK)


@inlined
def start_next(dev, requests):
    """Start the next request if it has arrived."""
    control = dev.control[0]
    if not arrived(dev.params[0], control, requests[control.cursor]):
        return np.int64(AGAIN)
    start_request(dev, requests[control.cursor])
    return np.int64(OK)


@inlined
def page_ended(dev, die_number, number, command):
    """Finish a read or a write whose command has ended."""
    note_parts(dev, die_number, number, np.int64(dev.transaction[number].slot))
    if command == READ_PAGE:
        read_ended(dev, number)
    else:
        transaction_done(dev, number)
