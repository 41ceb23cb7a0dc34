"""How the block family carries out pages of requests without time, counting only."""

import numpy as np

from ssdgym.engine.block.bundles import locate, plane_of_bundle
from ssdgym.engine.block.jobs import goes_on, job_command
from ssdgym.engine.block.writes import HAS_TO_WAIT, find_place, host_program, read_page, trim
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import NO_WORK, OK
from ssdgym.engine.time.transactions import is_partial, pass_request
from ssdgym.requests import FLUSH, READ, WRITE


@inlined
def _write_page(dev, lpn, partial):
    """Write a page; return OK, HAS_TO_WAIT where a job goes first, or an error."""
    control = dev.control[0]
    bundle, place = locate(dev, lpn)
    plane = plane_of_bundle(dev, bundle)
    ppn = np.int64(find_place(dev, plane, bundle, place, lpn))
    if ppn < 0:
        control.gc_plane = plane
        return ppn
    if partial and dev.logical[lpn].ppn >= 0:
        read_page(dev, lpn)
        dev.counters[0].rmw_reads += 1
    control.admitted_pages += 1
    host_program(dev, plane, bundle, ppn, lpn, np.int64(dev.logical[lpn].version) + 1)
    if goes_on(dev, plane):
        control.gc_plane = plane
    return np.int64(OK)


@inlined
def _read_page(dev, lpn):
    dev.counters[0].host_reads += 1
    if dev.logical[lpn].ppn >= 0:
        read_page(dev, lpn)
    else:
        dev.counters[0].unmapped_reads += 1


@inlined
def _do_page(dev, request):
    """Carry out the next page of a request."""
    control = dev.control[0]
    lpn = np.int64(request.lpn) + control.offset
    status = np.int64(OK)
    if request.op == WRITE:
        status = _write_page(dev, lpn, is_partial(request, control.offset))
        if status == HAS_TO_WAIT:
            return np.int64(OK)
    elif request.op == READ:
        _read_page(dev, lpn)
    else:
        trim(dev, lpn)
    if status == OK:
        control.offset += 1
    return status


@inlined
def do_work(dev):
    """Carry out the next command of a job."""
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    status, _, _ = job_command(dev, plane)
    if status == OK and not goes_on(dev, plane):
        control.gc_plane = -1
    return status


@inlined
def do_next(dev, requests):
    """Carry out the next page of a request, or a flush."""
    control = dev.control[0]
    request = requests[control.cursor]
    status = np.int64(OK)
    if request.op != FLUSH:
        status = np.int64(_do_page(dev, request))
    if request.op == FLUSH or control.offset == request.pages:
        pass_request(control)
    return status
