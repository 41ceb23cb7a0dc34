"""The page-mapping family: its loops, and how its decisions are described and carried out."""

from __future__ import annotations

import numpy as np
from numba import types

from ssdgym.engine import loop
from ssdgym.engine.blocks.index import add_block, format_plane
from ssdgym.engine.blocks.manager import return_open_block
from ssdgym.engine.core.family import Family, State
from ssdgym.engine.core.kernel import entry, function_at, inlined
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.core.records import BY_RULE
from ssdgym.engine.core.status import FAULTS
from ssdgym.engine.decisions import (
    ERASE,
    IDLE,
    IDLE_STEPS,
    IDLES,
    ORACLE,
    TRACKERS,
    Decider,
    hooked_by,
    store_action,
)
from ssdgym.engine.entries import (
    LOOPS,
    apply_action,
    bind,
    call_on,
    count_lost_pages,
    find_fault,
    format_arrays,
    loop_caller,
    observe,
    run_loop,
)
from ssdgym.engine.erase.candidates import pairs_of
from ssdgym.engine.erase.features import observe_plane
from ssdgym.engine.observation import clear_view, observer_type
from ssdgym.engine.page.audit import count_lost_in, first_fault_of
from ssdgym.engine.page.buffer import format_buffer
from ssdgym.engine.page.scheduler import dispatch_die
from ssdgym.engine.page.state import ARRAYS, PageDevice, PageState, bind_device
from ssdgym.engine.page.timed import admit_page, page_ended, start_next
from ssdgym.engine.page.untimed import do_next, do_work
from ssdgym.engine.rounds import start_round
from ssdgym.engine.speedupgc.groups import deal_to_groups, form_groups, refresh_groups
from ssdgym.engine.speedupgc.heaps import refresh
from ssdgym.engine.time.events import format_control, format_queues
from ssdgym.engine.view import whole_view


@inlined
def format_page_device(dev):
    """Turn zeroed arrays, but for the parameters, into an empty device."""
    params = dev.params[0]
    for lpn in range(params.logical_pages):
        dev.logical[lpn].ppn = -1
    pages = np.int64(params.planes) * params.blocks * params.pages_per_block
    for ppn in range(pages):
        dev.physical[ppn].lpn = -1
    if params.tree_leaves > 0:
        dev.tree[:] = -1
    for plane in range(params.planes):
        format_plane(dev, plane)
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            add_block(dev, plane, block)
        if params.groups > 0:
            form_groups(dev, plane)
    format_buffer(dev)
    format_queues(dev)
    format_control(dev)


@entry
def _adopt(dev):
    params = dev.params[0]
    if params.groups > 0:
        for plane in range(np.int64(params.planes)):
            return_open_block(dev, plane, np.int64(0))
        deal_to_groups(dev)


def adopt_placement(state: State, i: int) -> None:
    """Start the placement of a device that was written in stream 0 alone and without block groups."""
    call_on(_adopt, state, i)


_observer_at = function_at(types.FunctionType(observer_type(ARRAYS)))


@inlined
def _bind(state, i, rules, external, pairs, address):
    params = state.params[i, 0]
    victim = whole_view(
        state, i, params.victim_page, params.victim_block, params.victim_stream, params.victim_device
    )
    view = store_at(victim, address + STORED_BYTES)
    place_view = view
    if params.placement == BY_RULE or rules.shape[0] > TRACKERS:
        place = whole_view(
            state, i, params.place_page, params.place_block, params.place_stream, params.place_device
        )
        place_view = store_at(place, address + 2 * STORED_BYTES)
    hooks = hooked_by(rules)
    idle_view = view
    if rules[IDLE].choose != 0:
        idle = whole_view(
            state, i, params.idle_page, params.idle_block, params.idle_stream, params.idle_device
        )
        idle_view = store_at(idle, address + 3 * STORED_BYTES)
        hooks |= IDLES
    if external & (1 << IDLE):  # the future reaches no agent
        hooks = (hooks | IDLES) & ~ORACLE
    bind_device(state, i, Decider(external, rules, pairs, hooks, view, place_view, idle_view), address)


@inlined
def _refresh_tables(dev):
    plane = np.int64(dev.control[0].host_plane)
    refresh(dev, plane)
    refresh_groups(dev, plane)


@inlined
def _apply_action(dev, chosen, action):
    control = dev.control[0]
    if control.decision_kind == ERASE:
        return np.int64(start_round(dev, np.int64(control.decision_plane), chosen, pairs_of(chosen)))
    answers = len(IDLE_STEPS) if control.decision_kind == IDLE else dev.params[0].streams
    return store_action(dev, action, answers)


@inlined
def _observe(dev, spec, view):
    plane = clear_view(dev, view)
    address = spec.observers[dev.control[0].decision_kind]
    if address == 0:
        observe_plane(dev, plane, spec, view)
    else:
        _observer_at(address)(dev, spec, view, plane)


PAGE = Family("page", ARRAYS, LOOPS, FAULTS)
bind.of(PageState)(_bind)
loop.refresh_tables.of(PageDevice)(_refresh_tables)
run_loop.of(PageDevice)(loop_caller(ARRAYS))
loop.do_next.of(PageDevice)(do_next)
loop.do_work.of(PageDevice)(do_work)
loop.admit_page.of(PageDevice)(admit_page)
loop.page_ended.of(PageDevice)(page_ended)
loop.start_next.of(PageDevice)(start_next)
loop.dispatch_once.of(PageDevice)(dispatch_die)
format_arrays.of(PageDevice)(format_page_device)
count_lost_pages.of(PageDevice)(count_lost_in)
find_fault.of(PageDevice)(first_fault_of)
apply_action.of(PageDevice)(_apply_action)
observe.of(PageDevice)(_observe)
