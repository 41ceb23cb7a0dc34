"""The entry points: advance, apply, observe, for one device or for a batch in one call.

The two loops, in time and without, are compiled apart, each when it is first needed. The step of a batch
reaches them by address, so that they are not compiled into it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.kernel import address_of, entry, function_at, inlined
from ssdgym.engine.core.status import ERASE_DECISION, HORIZON, NO_DECISION, OK
from ssdgym.engine.erase.candidate_table import pairs_of
from ssdgym.engine.erase.candidates import Proposers
from ssdgym.engine.erase.features import View, observe_plane
from ssdgym.engine.erase.view import PAIRS_TYPE, PARAMETERS_TYPE
from ssdgym.engine.page.collecting import Decider
from ssdgym.engine.page.event_loop import advance_timed
from ssdgym.engine.page.gc_round import start_round
from ssdgym.engine.page.state import ARRAYS, device_of
from ssdgym.engine.page.untimed_loop import advance_untimed
from ssdgym.engine.speedupgc.best_sets import refresh
from ssdgym.engine.speedupgc.groups import refresh_groups
from ssdgym.requests import REQUEST

#: What both loops are called with: as :func:`advance`.
_SIGNATURE = types.int64(
    ARRAYS.state_type,
    types.int64,
    typeof(np.zeros(1, REQUEST)),
    types.boolean,
    types.boolean,
    types.int64,
    PARAMETERS_TYPE,
    PAIRS_TYPE,
)
_loop_at = function_at(types.FunctionType(_SIGNATURE))


@inlined
def _prepare_view(dev, status):
    """At the horizon somebody may look at the device as if a decision were due."""
    if status == HORIZON:
        plane = np.int64(dev.control[0].host_plane)
        refresh(dev, plane)
        refresh_groups(dev, plane)
    return np.int64(status)


@entry
def _untimed_loop(state, i, requests, last, external, address, parameters, choice):
    dev = device_of(state, i)
    if dev.control[0].decision_plane >= 0:
        return ERASE_DECISION
    decider = Decider(external, address, parameters, choice)
    return _prepare_view(dev, advance_untimed(dev, requests, decider))


@entry
def _timed_loop(state, i, requests, last, external, address, parameters, choice):
    dev = device_of(state, i)
    if dev.control[0].decision_plane >= 0:
        return ERASE_DECISION
    decider = Decider(external, address, parameters, choice)
    return _prepare_view(dev, advance_timed(dev, requests, last, decider))


_LOOPS = (_untimed_loop, _timed_loop)


def advance(
    state: Any,
    i: int,
    requests: np.ndarray,
    last: bool,
    external: bool,
    address: int,
    parameters: np.ndarray,
    choice: np.ndarray,
) -> int:
    """Run device ``i`` until a decision taken outside is due, its input ends, or its horizon is reached.

    ``requests`` (m,) REQUEST is the present chunk of input, of which ``run.cursor`` requests are done;
    ``last`` says that no more follows. Returns ERASE_DECISION, INPUT_ENDED, HORIZON, or a negative error.
    """
    loop = _LOOPS[state.params["timed"][i, 0]]
    return int(loop(state, i, requests, last, external, address, parameters, choice))


def loop_addresses(state: Any) -> np.ndarray:
    """Addresses of the loops a batch needs, shape (2,) int64: untimed, in time; 0 for one it does not
    need.
    """
    needed = np.unique(state.params["timed"])
    addresses = np.zeros(2, np.int64)
    for timed in needed:
        addresses[timed] = address_of(_LOOPS[timed], _SIGNATURE)
    return addresses


@inlined
def _apply(dev, pairs, count):
    control = dev.control[0]
    if control.decision_plane < 0:
        return NO_DECISION
    status = start_round(dev, np.int64(control.decision_plane), pairs, count)
    if status == OK:
        control.decision_plane = -1
        control.resumes = dev.params[0].timed
    return status


@entry
def apply(state, i, pairs, count):
    """Carry out an ERASE decision, the first ``count`` of ``pairs`` (MAX_PAIRS,): OK, or a negative error
    with the device as it was.
    """
    return _apply(device_of(state, i), pairs, np.int64(count))


@inlined
def _observe_one(dev, every, proposers, buffers, i):
    control = dev.control[0]
    plane = np.int64(control.decision_plane if control.decision_plane >= 0 else control.host_plane)
    view = View(
        buffers.sets[i], buffers.features[i], buffers.mask[i], buffers.context[i], buffers.proposed[i]
    )
    observe_plane(dev, plane, every, proposers, view)


@entry
def observe_batch(state, which, every, most_blocks, addresses, parameters, choice, buffers):
    """Describe the decisions the devices of ``which`` wait for; at the horizon, one in the plane written
    last.

    ``every``, ``most_blocks``: list all sets, or fill up with sets of so many blocks. ``buffers`` is a
    :class:`View` whose arrays have the device as a first axis.
    """
    proposers = Proposers(addresses, parameters, choice, most_blocks)
    for k in range(which.shape[0]):
        _observe_one(device_of(state, which[k]), every, proposers, buffers, which[k])


@entry
def first_invalid_action(mask, actions):
    """The first device whose action is no valid candidate of ``mask`` (n, K), or -1."""
    for i in range(actions.shape[0]):
        if actions[i] < 0 or actions[i] >= mask.shape[1] or mask[i, actions[i]] == 0:
            return i
    return -1


@entry
def step_batch(
    state,
    which,
    actions,
    requests,
    counts,
    loops,
    every,
    most_blocks,
    addresses,
    parameters,
    choice,
    buffers,
    status,
):
    """One step of many devices that take their ERASE decisions outside.

    For each device ``i`` of ``which``: if a decision is due, carry out ``actions[i]`` (-1: leave it due)
    among ``buffers.sets[i]``; advance, by ``loops`` of :func:`loop_addresses`, through ``requests[i,
    :counts[i]]``; observe if a decision is due or the horizon is reached. ``status[i]`` is what ``advance``
    or ``apply`` returned; the result is how many of the devices do not wait for a decision now.
    """
    others = 0
    proposers = Proposers(addresses, parameters, choice, most_blocks)
    for k in range(which.shape[0]):
        i = which[k]
        dev = device_of(state, i)
        status[i] = OK
        if actions[i] >= 0 and dev.control[0].decision_plane >= 0:
            chosen = buffers.sets[i, actions[i]]
            status[i] = _apply(dev, chosen, pairs_of(chosen))
        if status[i] == OK:
            loop = _loop_at(loops[np.int64(dev.params[0].timed)])
            status[i] = loop(
                state, i, requests[i, : counts[i]], False, True, addresses[0], parameters[0], choice
            )
        if status[i] == ERASE_DECISION or status[i] == HORIZON:
            _observe_one(dev, every, proposers, buffers, i)
        if status[i] != ERASE_DECISION:
            others += 1
    return others
