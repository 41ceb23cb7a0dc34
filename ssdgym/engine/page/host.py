"""How the page family carries out pages of requests without time, and admits them in time."""

import numpy as np

from ssdgym.engine.allocation import allocate_die, emptiest_plane, pass_die, pass_plane
from ssdgym.engine.blocks.manager import ensure_open
from ssdgym.engine.cells import is_over
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import IN_STREAMS, LEVELLING_DUE, LEVELLING_RUNS, MAX_STREAMS, STATIC
from ssdgym.engine.core.status import AGAIN, END_OF_LIFE, NO_WORK, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import PLACE, WRITTEN, is_external, status_of
from ssdgym.engine.loop import lpn_of
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.levelling import levels_next, start_levelling
from ssdgym.engine.page.placement import (
    by_request,
    host_stream,
    note_request,
    plane_for_host,
    replace_page,
    rule_of_host,
)
from ssdgym.engine.page.writes import host_program, host_read
from ssdgym.engine.rounds import collect, gc_needed, has_round, is_short, unfinished_plane
from ssdgym.engine.time.transactions import is_partial

# -- without time


@inlined
def _place_for(dev, lpn):
    """Return the plane a page goes to and the die that is bound (-1: by its number); no cursor moves."""
    params = dev.params[0]
    if params.allocation == STATIC:
        return remainder(lpn, params.planes), np.int64(-1)
    die_number = np.int64(allocate_die(dev))
    plane = plane_for_host(dev, die_number)
    return (plane if plane >= 0 else np.int64(emptiest_plane(dev))), die_number


@inlined
def _pass(dev, plane, die_number):
    """Move the cursors behind the die that is bound, and behind the plane if it is one of that die's."""
    if die_number >= 0:
        pass_die(dev, die_number)
        if remainder(plane, dev.params[0].dies) == die_number:
            pass_plane(dev, plane)


@kernel
def _named_stream(dev, plane, lpn):
    """Return the stream that is named outside for a page, or was for the first one of its request."""
    control, whole = dev.control[0], by_request(dev)
    named = control.request_stream if whole and control.offset > 0 else -1
    stream = host_stream(dev, plane, lpn, named)
    if whole and stream >= 0:
        control.request_stream = stream
    return stream


@inlined
def _program(dev, lpn, partial):
    """Program a page of the host, unless a decision about it is due first."""
    params = dev.params[0]
    control = dev.control[0]
    plane, die_number = _place_for(dev, lpn)
    if is_short(dev, plane):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
        return np.int64(AGAIN)
    version = np.int64(dev.logical[lpn].version + 1)
    replace_page(dev, lpn, version)
    target = _named_stream(dev, plane, lpn) if is_external(dev, PLACE) else rule_of_host(dev, plane, lpn)
    if target < 0:
        return status_of(dev, target)
    status = np.int64(ensure_open(dev, plane, target)) if target < MAX_STREAMS else np.int64(OK)
    if status != OK:
        return status_of(dev, status)
    _pass(dev, plane, die_number)
    if partial and dev.logical[lpn].ppn >= 0:
        host_read(dev, lpn)
        dev.counters[0].rmw_reads += 1
    if host_program(dev, plane, target, lpn, version) < 0:
        return np.int64(OUT_OF_SPACE)
    if gc_needed(params, dev.plane[plane]):
        control.gc_plane = plane
        dev.counters[0].gc_episodes += 1
    return np.int64(OK)


@inlined
def do_write(dev, request):
    """Write the next page of a request."""
    if dev.params[0].placement != IN_STREAMS or is_external(dev, PLACE) or dev.decider.hooks & WRITTEN:
        note_request(dev, request)
    status = _program(dev, lpn_of(dev, request), is_partial(request, dev.control[0].offset))
    if status == OK:
        dev.control[0].admitted_pages += 1
    return status


@inlined
def do_work(dev):
    """Carry out one round of foreground GC, or return the decision it needs; NO_WORK where none is due.

    Behind the last one of a plane a round may follow that levels wear.
    """
    control = dev.control[0]
    plane = np.int64(control.gc_plane)
    if plane < 0:
        return np.int64(NO_WORK)
    levelling = dev.plane[plane].levelling
    if levelling == LEVELLING_RUNS or (levelling == LEVELLING_DUE and not has_round(dev, plane)):
        return np.int64(_level(dev, plane))
    status = np.int64(collect(dev))
    if status == OK and control.gc_plane < 0:
        control.gc_plane = _plane_to_follow(dev)
    return status


@inlined
def _plane_to_follow(dev):
    """Return the plane in which wear is levelled behind collection, -1 for none."""
    params = dev.params[0]
    if not params.levels:
        return np.int64(-1)
    for plane in range(np.int64(params.planes)):
        if dev.plane[plane].levelling:
            return plane
    return np.int64(-1)


@kernel
def _level(dev, plane):
    """Carry out the round that levels wear in a plane, if one is wanted, or return the decision it needs."""
    status = np.int64(OK)
    if levels_next(dev, plane):
        status = start_levelling(dev, plane)
    if status == OK:
        status = np.int64(run_round(dev, plane))
    if dev.plane[plane].levelling == 0:
        following = unfinished_plane(dev)
        dev.control[0].gc_plane = following if following >= 0 else _plane_to_follow(dev)
    return np.int64(END_OF_LIFE) if is_over(dev) else status
