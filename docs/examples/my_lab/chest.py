"""A chest of drawers: a decision puts each host page into a drawer; emptying a full drawer is an erase."""

from __future__ import annotations

import numpy as np

from ssdgym.engine import entries, loop, operations
from ssdgym.engine.core.family import COMMON, Array, Arrays
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.status import ILLEGAL_ANSWER, OK
from ssdgym.engine.decisions import KINDS, PENDING, Decider, decision_code, is_external, request_action
from ssdgym.requests import WRITE

#: The number of the kind of decision.
DRAWER = len(KINDS)
DRAWERS, ROOM = 3, 8

#: Names of arrays of other families that metrics are computed from.
SHARED = (
    *("params", "control", "counters", "logical", "sub_block", "slot", "latency"),
    *("histogram", "gc_histogram", "tail", "life"),
)
ARRAYS = Arrays(
    "Chest",
    __name__,
    {name: COMMON[name] for name in SHARED} | {"drawer": Array(np.int64, (DRAWERS,))},  # pages in each drawer
)
ChestState, ChestDevice, bind_device = ARRAYS.state, ARRAYS.device, ARRAYS.bind_device


@inlined
def _bind(state, i, rules, external, pairs, address):
    bind_device(state, i, Decider(external, rules, pairs, 0, 0, 0, 0, 0), address)


@inlined
def _choose(dev, lpn):
    """Return the drawer of a page: the emptiest one, unless the choice is made outside the engine."""
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
    dev.drawer[:] = 0


@inlined
def _count_lost(dev):
    return 0


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


CHEST = entries.add_family(
    "chest",
    ARRAYS,
    {
        operations.family_bind: _bind,
        operations.family_format: _format,
        entries.count_lost_pages: _count_lost,
        operations.family_apply_action: _settle,
        operations.family_observe: _observe,
        loop.do_next: _do_next,
    },
)
