"""The page-mapping family: its operations, and how its decisions are described and carried out."""

import numpy as np
from numba import types

from ssdgym.engine import decisions, entries, operations, rounds
from ssdgym.engine.blocks.index import add_block, format_plane
from ssdgym.engine.blocks.manager import is_in, return_open_block
from ssdgym.engine.core.bits import NONE
from ssdgym.engine.core.kernel import function_at, inlined
from ssdgym.engine.core.pointer import STORED_BYTES, store_at
from ssdgym.engine.core.records import IN_STREAMS, INDEXED, MAX_STREAMS, TO_THE_POOL
from ssdgym.engine.core.status import ILLEGAL_ANSWER, NOT_CLOSED, OK
from ssdgym.engine.erase.candidates import pairs_of
from ssdgym.engine.erase.features import observe_plane
from ssdgym.engine.observation import clear_view, observer_type
from ssdgym.engine.page import lifetime
from ssdgym.engine.page.gc_round import run_round
from ssdgym.engine.page.placement import target_of_proposer
from ssdgym.engine.page.scheduler import dispatch_die, queue_read, queue_write
from ssdgym.engine.page.state import ARRAYS, bind_device
from ssdgym.engine.page.writes import do_work, do_write, forget, host_read, is_written, prefetch_requests
from ssdgym.engine.time.events import format_queues
from ssdgym.engine.view import IDLE_RULE, PLACEMENT, VICTIM, WEAR_RULES, view_of


@inlined
def _format(dev):
    """Turn zeroed arrays of the family into an empty device."""
    params = dev.params[0]
    pages = np.int64(params.planes) * params.blocks * params.pages_per_block
    for ppn in range(pages):
        dev.physical[ppn].lpn = -1
    for plane in range(params.planes):
        format_plane(dev, plane)
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            add_block(dev, plane, block)
    format_queues(dev)


@inlined
def _attach_rules(dev):
    """Attach rules that are not attached to the device yet.

    If the placement programs relocated pages only to the pool, open blocks of stream 0 first return there.
    """
    params, placed = dev.params[0], dev.control[0].attached & (1 << decisions.PLACE) != 0
    if params.placement == TO_THE_POOL and not placed:
        for plane in range(np.int64(params.planes)):
            return_open_block(dev, plane, np.int64(0))
    decisions.attach(dev, decisions.ERASE)
    if params.placement != IN_STREAMS:
        decisions.attach(dev, decisions.PLACE)
    if dev.decider.hooks & decisions.ATTACHED:
        decisions.attach_trackers(dev)
        for kind in (decisions.IDLE, decisions.ALLOCATE, decisions.LEVEL):
            if dev.decider.rules[kind].hooks & decisions.ATTACHED:
                decisions.attach(dev, kind)


_observer_at = function_at(types.FunctionType(observer_type(ARRAYS)))


@inlined
def _store_view(state, i, role, address):
    """Store the view of a role behind the device, which is stored at `address`; return the view's address."""
    return store_at(view_of(state, i, role), address + (role + 1) * STORED_BYTES)


@inlined
def _bind(state, i, rules, external, pairs, address):
    hooks, view = decisions.hooked_by(rules), _store_view(state, i, VICTIM, address)
    place_view = idle_view = wear_view = view
    if state.params[i, 0].placement != IN_STREAMS or rules.shape[0] > decisions.TRACKERS:
        place_view = _store_view(state, i, PLACEMENT, address)
    if rules[decisions.IDLE].choose != 0:
        idle_view = _store_view(state, i, IDLE_RULE, address)
        hooks |= decisions.IDLES
    if external & (1 << decisions.IDLE):  # agents do not see the next arrival
        hooks = (hooks | decisions.IDLES) & ~decisions.ORACLE
    if rules[decisions.ALLOCATE].choose != 0 or rules[decisions.LEVEL].choose != 0:
        wear_view = _store_view(state, i, WEAR_RULES, address)
    if rules[decisions.ALLOCATE].choose != 0:
        hooks |= decisions.ALLOCATES
    decider = decisions.Decider(external, rules, pairs, hooks, view, place_view, idle_view, wear_view)
    bind_device(state, i, decider, address)


@inlined
def _apply_action(dev, chosen, action):
    control = dev.control[0]
    if control.decision_kind == decisions.ERASE:
        return np.int64(rounds.start_round(dev, np.int64(control.decision_plane), chosen, pairs_of(chosen)))
    if control.decision_kind == decisions.LEVEL:
        block = np.int64(chosen[0].block if chosen[0].mask != NONE else -1)
        if block >= 0 and not is_in(dev, np.int64(control.decision_plane), block, INDEXED):
            return np.int64(NOT_CLOSED)
        control.answer = block + 1
        return np.int64(OK)
    streams = dev.params[0].streams
    if control.decision_kind in (decisions.PLACE, decisions.RELOCATE) and action >= streams:
        subject, relocated = np.int64(control.decision_subject), control.decision_kind == decisions.RELOCATE
        lpn = np.int64(dev.physical[subject].lpn) if relocated else subject
        source = subject if relocated else np.int64(-1)
        plane, proposer = np.int64(control.decision_plane), np.int64(action - streams)
        target = np.int64(target_of_proposer(dev, plane, lpn, source, proposer))
        if target < MAX_STREAMS:
            return np.int64(ILLEGAL_ANSWER)
        control.answer = target
        return np.int64(OK)
    return decisions.store_action(
        dev, action, len(decisions.IDLE_STEPS) if control.decision_kind == decisions.IDLE else streams
    )


@inlined
def _observe(dev, spec, view):
    plane = clear_view(dev, view)
    address = spec.observers[dev.control[0].decision_kind]
    if address == 0:
        observe_plane(dev, plane, spec, view)
    else:
        _observer_at(address)(dev, spec, view, plane)


PAGE = entries.add_family(
    "page",
    ARRAYS,
    {
        operations.family_bind: _bind,
        operations.family_format: _format,
        operations.family_is_written: is_written,
        operations.family_attach_rules: _attach_rules,
        operations.family_apply_action: _apply_action,
        operations.family_observe: _observe,
        operations.family_forget_page: forget,
        operations.family_run_round: run_round,
        operations.family_can_move: lifetime.can_move,
        operations.family_settle: lifetime.settle,
        operations.family_host_read: host_read,
        operations.family_prefetch: prefetch_requests,
        operations.family_do_work: do_work,
        operations.family_do_write: do_write,
        operations.family_queue_read: queue_read,
        operations.family_queue_write: queue_write,
        operations.family_dispatch: dispatch_die,
    },
)
