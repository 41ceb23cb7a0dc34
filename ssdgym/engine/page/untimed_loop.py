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
def _plane_for(dev, geometry, run, lpn):
    if geometry.allocation == STATIC:
        return remainder(lpn, geometry.planes)
    plane = bind_plane(dev, geometry, bind_die(dev, geometry, run))
    if plane < 0:
        return emptiest_plane(dev, geometry)
    pass_plane(dev, geometry, plane)
    return plane


@inlined
def is_partial(request, offset):
    """Does the request cover only a part of its page number ``offset``?"""
    head = request.flags & PARTIAL_HEAD and offset == 0
    return head or (request.flags & PARTIAL_TAIL and offset == request.pages - 1)


@merged
def _write_page(dev, geometry, run, lpn, partial):
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, run, lpn)
        run.rmw_reads += 1
    plane = _plane_for(dev, geometry, run, lpn)
    run.admitted_pages += 1
    if host_program(dev, geometry, run, plane, lpn, dev.logical[lpn].version + 1) < 0:
        return OUT_OF_SPACE
    if gc_needed(geometry, dev.plane[plane]):
        run.gc_plane = plane
        run.gc_episodes += 1
    return OK


@inlined
def _read_page(dev, run, lpn):
    run.host_reads += 1
    if dev.logical[lpn].ppn >= 0:
        host_read(dev, run, lpn)
    else:
        run.unmapped_reads += 1


@merged
def _do_page(dev, geometry, run, request):
    """Carry out the next page of a request."""
    lpn = np.int64(request.lpn) + run.offset
    partial = is_partial(request, run.offset)
    run.offset += 1
    if request.op == WRITE:
        return _write_page(dev, geometry, run, lpn, partial)
    if request.op == READ:
        _read_page(dev, run, lpn)
    else:
        host_trim(dev, geometry, run, lpn)
    return OK


@merged
def _collect(dev, geometry, run, decider):
    """One round of foreground GC, or the decision it needs."""
    number = np.int64(run.gc_plane)
    plane = dev.plane[number]
    if plane.job_leader < 0:
        status = choose_victim(dev, geometry, run, number, decider)
        if status != OK:
            return status
    status = run_round(dev, geometry, run, number)
    if not gc_unfinished(geometry, plane):
        run.gc_plane = -1
    return status


@inlined
def _prefetch_pages(dev, geometry, soon, later):
    """Two requests are still to come: where their first pages are will be needed (a flush has none)."""
    prefetch(dev.logical, np.int64(later.lpn))
    if soon.op == WRITE:
        prefetch_holder(dev, geometry, np.int64(soon.lpn))


@merged
def advance_untimed(dev, requests, decider):
    """Run until input or horizon ends, or until a decision is due that is taken outside."""
    geometry = dev.geometry[0]
    run = dev.run[0]
    while True:
        if run.admitted_pages >= run.horizon:
            return HORIZON
        if run.gc_plane >= 0:
            status = _collect(dev, geometry, run, decider)
            if status != OK:
                return status
            continue
        if run.cursor >= requests.shape[0]:
            return INPUT_ENDED
        request = requests[run.cursor]
        if geometry.groups > 0 and run.cursor + 2 * _AHEAD < requests.shape[0]:
            _prefetch_pages(dev, geometry, requests[run.cursor + _AHEAD], requests[run.cursor + 2 * _AHEAD])
        status = OK
        if request.op != FLUSH:
            status = _do_page(dev, geometry, run, request)
        if request.op == FLUSH or run.offset == request.pages:
            run.cursor += 1
            run.serial += 1
            run.offset = 0
        if status != OK:
            return status
