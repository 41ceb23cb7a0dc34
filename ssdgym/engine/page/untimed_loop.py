"""The untimed loop: requests carried out page by page, counting only."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.manager import prefetch_holder
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, merged, prefetch
from ssdgym.engine.core.records import STATIC
from ssdgym.engine.core.status import HORIZON, INPUT_ENDED, OK, OUT_OF_SPACE
from ssdgym.engine.erase.legality import gc_unfinished
from ssdgym.engine.page.collecting import choose_victim, gc_needed
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.mapping import (
    bind_die,
    bind_plane,
    emptiest_plane,
    host_program,
    host_read,
    host_trim,
    pass_plane,
)
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, WRITE

#: Requests in advance of which memory is asked for.
_AHEAD = 2


@inlined
def _plane_for(dev, lpn):
    params = dev.params[0]
    if params.allocation == STATIC:
        return remainder(lpn, params.planes)
    plane = bind_plane(dev, bind_die(dev))
    if plane < 0:
        return emptiest_plane(dev)
    pass_plane(dev, plane)
    return plane


@inlined
def is_partial(request, offset):
    """Does the request cover only a part of its page number ``offset``?"""
    head = request.flags & PARTIAL_HEAD and offset == 0
    return head or (request.flags & PARTIAL_TAIL and offset == request.pages - 1)


@merged
def _write_page(dev, lpn, partial):
    params = dev.params[0]
    control = dev.control[0]
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
        dev.counters[0].rmw_reads += 1
    plane = _plane_for(dev, lpn)
    control.admitted_pages += 1
    if host_program(dev, plane, lpn, dev.logical[lpn].version + 1) < 0:
        return OUT_OF_SPACE
    if gc_needed(params, dev.plane[plane]):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return OK


@inlined
def _read_page(dev, lpn):
    dev.counters[0].host_reads += 1
    if dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
    else:
        dev.counters[0].unmapped_reads += 1


@merged
def _do_page(dev, request):
    """Carry out the next page of a request."""
    control = dev.control[0]
    lpn = np.int64(request.lpn) + control.offset
    partial = is_partial(request, control.offset)
    control.offset += 1
    if request.op == WRITE:
        return _write_page(dev, lpn, partial)
    if request.op == READ:
        _read_page(dev, lpn)
    else:
        host_trim(dev, lpn)
    return OK


@merged
def _collect(dev, decider):
    """One round of foreground GC, or the decision it needs."""
    params = dev.params[0]
    control = dev.control[0]
    number = np.int64(control.gc_plane)
    plane = dev.plane[number]
    if plane.round_leader < 0:
        status = choose_victim(dev, number, decider)
        if status != OK:
            return status
    status = run_round(dev, number)
    if not gc_unfinished(params, plane):
        control.gc_plane = -1
    return status


@inlined
def _prefetch_pages(dev, soon, later):
    """Two requests are still to come: where their first pages are will be needed (a flush has none)."""
    prefetch(dev.logical, np.int64(later.lpn))
    if soon.op == WRITE:
        prefetch_holder(dev, np.int64(soon.lpn))


@merged
def advance_untimed(dev, requests, decider):
    """Run until input or horizon ends, or until a decision is due that is taken outside."""
    params = dev.params[0]
    control = dev.control[0]
    while True:
        if control.admitted_pages >= control.horizon:
            return HORIZON
        if control.gc_plane >= 0:
            status = _collect(dev, decider)
            if status != OK:
                return status
            continue
        if control.cursor >= requests.shape[0]:
            return INPUT_ENDED
        request = requests[control.cursor]
        if params.groups > 0 and control.cursor + 2 * _AHEAD < requests.shape[0]:
            _prefetch_pages(dev, requests[control.cursor + _AHEAD], requests[control.cursor + 2 * _AHEAD])
        status = OK
        if request.op != FLUSH:
            status = _do_page(dev, request)
        if request.op == FLUSH or control.offset == request.pages:
            control.cursor += 1
            control.serial += 1
            control.offset = 0
        if status != OK:
            return status
