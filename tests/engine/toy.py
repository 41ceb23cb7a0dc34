"""A second FTL family of a few dozen lines: what it takes to stand beside the page family.

Its device is a chest of three drawers. Every host page goes to one, and to which is a decision of a
kind of its own. A drawer that is full is emptied, which counts as an erase.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.family import COMMON, Array, Arrays, Family
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import ILLEGAL_ANSWER, OK
from ssdgym.engine.decisions import KINDS, PENDING, Decider, decision_code, is_external, request_action
from ssdgym.engine.entries import (
    LOOPS,
    apply_action,
    bind,
    count_lost_pages,
    find_fault,
    format_arrays,
    loop_caller,
    observe,
    run_loop,
)
from ssdgym.engine.loop import do_next
from ssdgym.requests import WRITE

#: The kind of its decisions.
DRAWER = len(KINDS)
DRAWERS, ROOM = 3, 8

#: Those of the arrays of other families that metrics are read from.
SHARED = (
    *("params", "control", "counters", "logical", "sub_block", "slot", "latency"),
    *("histogram", "gc_histogram", "tail"),
)
ARRAYS = Arrays(
    "Toy",
    __name__,
    {name: COMMON[name] for name in SHARED} | {"drawer": Array(np.int64, (DRAWERS,))},  # pages in each
)
ToyState, ToyDevice, bind_device = ARRAYS.state, ARRAYS.device, ARRAYS.bind_device


@inlined
def _bind(state, i, rules, external, pairs, address):
    bind_device(state, i, Decider(external, rules, pairs, 0, 0, 0, 0), address)


@inlined
def _choose(dev, lpn):
    """Ask for the drawer of a page; without anybody outside it is the emptiest one."""
    if is_external(dev, DRAWER):
        return request_action(dev, DRAWER, 0, lpn)
    return np.int64(np.argmin(dev.drawer))


@inlined
def _write(dev, lpn, drawer):
    counters, control = dev.counters[0], dev.control[0]
    if dev.drawer[drawer] == ROOM:
        dev.drawer[drawer] = 0
        counters.erases += 1
    dev.drawer[drawer] += 1
    dev.logical[lpn].ppn = drawer
    control.clock += 1
    control.admitted_pages += 1
    counters.host_pages_written += 1


@inlined
def _do_next(dev, requests):
    control = dev.control[0]
    request = requests[control.cursor]
    if request.op == WRITE:
        lpn = np.int64(request.lpn) + control.offset
        drawer = _choose(dev, lpn)
        if drawer == PENDING:
            return decision_code(dev)
        _write(dev, lpn, drawer)
        control.offset += 1
    if request.op != WRITE or control.offset == request.pages:
        control.cursor += 1
        control.offset = 0
    return np.int64(OK)


@inlined
def _format(dev):
    for lpn in range(dev.params[0].logical_pages):
        dev.logical[lpn].ppn = -1
    dev.control[0].horizon = 2**62
    dev.control[0].decision_plane = -1
    dev.control[0].slot = -1
    dev.control[0].answer = -1


@inlined
def _count_lost(dev):
    return 0


@inlined
def _find_fault(dev):
    fault = 0
    for k in range(DRAWERS):
        if dev.drawer[k] > ROOM:
            fault = 1
    return fault


@inlined
def _settle(dev, chosen, action):
    if action < 0 or action >= DRAWERS:
        return np.int64(ILLEGAL_ANSWER)
    dev.control[0].answer = action
    return np.int64(OK)


@inlined
def _observe(dev, spec, view):
    view.mask[:] = 0
    for k in range(DRAWERS):
        view.mask[k] = 1
        view.features[k, 0] = dev.drawer[k] / ROOM
    view.context[0] = dev.counters[0].erases / (dev.control[0].clock + 1.0)


TOY = Family("toy", ARRAYS, LOOPS, faults=("none", "a drawer holds more than fits"))
bind.of(ToyState)(_bind)
do_next.of(ToyDevice)(_do_next)
run_loop.of(ToyDevice)(loop_caller(ARRAYS))
format_arrays.of(ToyDevice)(_format)
count_lost_pages.of(ToyDevice)(_count_lost)
find_fault.of(ToyDevice)(_find_fault)
apply_action.of(ToyDevice)(_settle)
observe.of(ToyDevice)(_observe)
