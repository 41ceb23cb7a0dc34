"""The page-mapping family: its loops, and how its decisions are described and carried out."""

from __future__ import annotations

import numpy as np
from numba import types

from ssdgym.engine.core.family import Family
from ssdgym.engine.core.faults import FAULTS
from ssdgym.engine.core.kernel import entry, function_at, inlined
from ssdgym.engine.core.status import HORIZON, ILLEGAL_ANSWER, OK
from ssdgym.engine.decisions import ERASE, IDLE, IDLE_STEPS, decision_code
from ssdgym.engine.entries import loop_signature
from ssdgym.engine.erase.candidate_table import pairs_of
from ssdgym.engine.erase.features import observe_plane
from ssdgym.engine.page.audit import count_lost_in, first_fault_of
from ssdgym.engine.page.event_loop import advance_timed
from ssdgym.engine.page.format import format_page_device
from ssdgym.engine.page.state import ARRAYS, PageDevice, PageState
from ssdgym.engine.page.untimed_loop import advance_untimed
from ssdgym.engine.page.view import DESCRIBER, VIEW_TYPE, deciding_page_device, page_device, view_arrays
from ssdgym.engine.rounds import start_round
from ssdgym.engine.speedupgc.groups import refresh_groups
from ssdgym.engine.speedupgc.trees import refresh
from ssdgym.engine.verbs import (
    bare,
    count_lost_pages,
    deciding,
    describe,
    find_fault,
    format_arrays,
    run_loop,
    settle_choice,
)

_loop_at = function_at(types.FunctionType(loop_signature(ARRAYS)))
_describer_at = function_at(types.FunctionType(DESCRIBER))


@inlined
def _prepare_view(dev, status):
    """Bring the tables up to date at the horizon, where the device is described as if a decision were due."""
    if status == HORIZON:
        plane = np.int64(dev.control[0].host_plane)
        refresh(dev, plane)
        refresh_groups(dev, plane)
    return np.int64(status)


@entry
def _untimed_loop(dev, requests, last):
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return _prepare_view(dev, advance_untimed(dev, requests))


@entry
def _timed_loop(dev, requests, last):
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return _prepare_view(dev, advance_timed(dev, requests, last))


@inlined
def _run_loop(dev, address, requests, last):
    return _loop_at(address)(dev, requests, last)


@inlined
def _settle_choice(dev, chosen, action):
    control = dev.control[0]
    if control.decision_kind == ERASE:
        return np.int64(start_round(dev, np.int64(control.decision_plane), chosen, pairs_of(chosen)))
    answers = len(IDLE_STEPS) if control.decision_kind == IDLE else dev.params[0].streams
    if action < 0 or action >= answers:
        return np.int64(ILLEGAL_ANSWER)
    control.answer = action
    return np.int64(OK)


@inlined
def _describe(dev, question, view):
    control = dev.control[0]
    plane = np.int64(control.decision_plane if control.decision_plane >= 0 else control.host_plane)
    view.proposed[:] = -1
    view.context[:] = np.float32(0.0)
    address = question.describers[control.decision_kind]
    if address == 0:
        observe_plane(dev, plane, question, view)
    else:
        _describer_at(address)(dev, question, view, plane)


PAGE = Family("page", ARRAYS, (_untimed_loop, _timed_loop), VIEW_TYPE, view_arrays, FAULTS)
bare.of(PageState)(page_device)
deciding.of(PageState)(deciding_page_device)
run_loop.of(PageDevice)(_run_loop)
format_arrays.of(PageDevice)(format_page_device)
count_lost_pages.of(PageDevice)(count_lost_in)
find_fault.of(PageDevice)(first_fault_of)
settle_choice.of(PageDevice)(_settle_choice)
describe.of(PageDevice)(_describe)
