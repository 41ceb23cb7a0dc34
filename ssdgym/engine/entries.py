"""The entry points: advance, apply, observe, for one device or for a batch in one call.

The two loops, in time and without, are compiled apart, each when it is first needed. The step of a batch
reaches them by address, so that they are not compiled into it again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.family import Arrays, Family, State, family_of
from ssdgym.engine.core.kernel import address_of, entry, function_at, inlined
from ssdgym.engine.core.pointer import point_to
from ssdgym.engine.core.status import FIRST_DECISION, HORIZON, NO_DECISION, OK, PERIOD_DUE
from ssdgym.engine.decisions import decision_code, device_type
from ssdgym.engine.questions import View
from ssdgym.engine.verbs import (
    advance_timed,
    advance_untimed,
    bare,
    count_lost_pages,
    deciding,
    describe,
    find_fault,
    format_arrays,
    run_loop,
    settle_choice,
)
from ssdgym.requests import REQUEST


def advance(
    state: State,
    i: int,
    requests: np.ndarray,
    last: bool,
    rules: np.ndarray,
    external: int,
    pairs: np.ndarray,
) -> int:
    """Run a device until a decision taken outside is due, its input ends, or its horizon is reached.

    Args:
        state: the batch.
        i: number of the device in it.
        requests: (m,) REQUEST, the present chunk of input, of which `control.cursor` requests are done.
        last: whether no more input follows.
        rules: (kinds,) RULE, who takes the decisions that are not taken outside.
        external: the set of kinds taken outside, bit `1 << kind`.
        pairs: (MAX_PAIRS,) ERASE_PAIR, scratch.

    Returns:
        INPUT_ENDED, HORIZON, FIRST_DECISION + the kind of the decision due, PERIOD_DUE, or a negative error.
    """
    address = _loop_address(family_of(state), int(state.params["timed"][i, 0]))
    return int(_advance_one(state, i, address, requests, last, rules, external, pairs))


@entry
def _advance_one(state, i, address, requests, last, rules, external, pairs):
    return run_loop(deciding(state, i, rules, external, pairs), address, requests, last)


def loop_signature(arrays: Arrays) -> Any:
    """Return numba's signature of the loops of a family with these arrays: (device, requests, last)."""
    return types.int64(device_type(arrays), typeof(np.zeros(1, REQUEST)), types.boolean)


def loop_caller(arrays: Arrays) -> Any:
    """Make the version of the verb `run_loop` for a family with these arrays."""
    loop_at = function_at(types.FunctionType(loop_signature(arrays)))

    @inlined
    def call_loop(dev, address, requests, last):
        return loop_at(address)(dev, requests, last)

    return call_loop


@entry
def _untimed_loop(dev, requests, last):
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return np.int64(advance_untimed(dev, requests))


@entry
def _timed_loop(dev, requests, last):
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return np.int64(advance_timed(dev, requests, last))


#: The loops of a family that has the verbs `advance_untimed` and `advance_timed`.
LOOPS = (_untimed_loop, _timed_loop)


@cache
def _loop_address(family: Family, timed: int) -> int:
    return address_of(family.loops[timed], loop_signature(family.arrays))


def loop_addresses(state: State) -> np.ndarray:
    """Return the addresses of the loops a batch needs.

    Returns:
        Shape (2,) int64: untimed, in time; 0 for one it does not need.
    """
    family = family_of(state)
    addresses = np.zeros(2, np.int64)
    for timed in np.unique(state.params["timed"]):
        addresses[timed] = _loop_address(family, int(timed))
    return addresses


@entry
def format_device(state, i):
    """Turn a device, zeroed arrays but for its parameters, into an empty one.

    Args:
        state: the batch.
        i: number of the device in it.
    """
    format_arrays(bare(state, i))


@entry
def count_lost(state, i):
    """Count mapped logical pages whose physical page does not hold their newest version.

    Args:
        state: the batch.
        i: number of the device in it.

    Returns:
        Their number.
    """
    return count_lost_pages(bare(state, i))


@entry
def first_fault(state, i):
    """Find the first of the family's invariants that a device breaks. Slow.

    Args:
        state: the batch.
        i: number of the device in it.

    Returns:
        The number of the fault among the family's `faults`, 0 for none.
    """
    return find_fault(bare(state, i))


@inlined
def settled(dev, status):
    """Return the status of a decision; if it is taken, nothing is asked any more and what asked goes on."""
    if status == OK:
        control = dev.control[0]
        control.decision_plane = -1
        control.resumes = dev.params[0].timed
    return np.int64(status)


@entry
def apply(state, i, rules, chosen, action):
    """Carry out the decision that is due.

    Args:
        state: the batch.
        i: number of the device in it.
        rules: (kinds,) RULE, who takes the decisions that are not taken outside.
        chosen: (MAX_PAIRS,) ERASE_PAIR, the erase set where one is asked for.
        action: number of the choice where anything else is asked for.

    Returns:
        OK, or a negative error with the device as it was.
    """
    dev = deciding(state, i, rules, 0, chosen)
    if dev.control[0].decision_plane < 0:
        return np.int64(NO_DECISION)
    return settled(dev, settle_choice(dev, chosen, action))


@inlined
def is_decision(status):
    """Return whether a device has stopped because a decision is due outside."""
    return FIRST_DECISION <= status < PERIOD_DUE


@inlined
def _observe_one(dev, question, buffers, i):
    view = View(
        buffers.sets[i],
        buffers.features[i],
        buffers.mask[i],
        buffers.context[i],
        buffers.proposed[i],
        buffers.taken[i],
    )
    describe(dev, question, point_to(view))


@entry
def observe_batch(state, which, question, buffers):
    """Describe the decisions the devices of `which` wait for.

    At the horizon a device is described as if a decision were due in the plane written last.

    Args:
        state: the batch.
        which: (k,) int64, numbers of the devices.
        question: what is asked, a `Question`.
        buffers: a `View` whose arrays have the device as a first axis; those of `which` are written.
    """
    asked = point_to(question)
    for k in range(which.shape[0]):
        dev = deciding(state, which[k], question.rules, question.external, question.pairs)
        _observe_one(dev, asked, buffers, which[k])


@entry
def first_invalid_action(mask, actions):
    """Find a device whose action is no valid candidate.

    Args:
        mask: (n, K) int8, the valid candidates of each device.
        actions: (n,) int64.

    Returns:
        The number of the first such device, -1 if there is none.
    """
    for i in range(actions.shape[0]):
        if actions[i] < 0 or actions[i] >= mask.shape[1] or mask[i, actions[i]] == 0:
            return i
    return -1


@entry
def step_batch(state, which, actions, feed, question, buffers, status):
    """Step many devices that take decisions outside.

    For each device `i` of `which`: carry out its action if a decision is due, advance through its input, and
    observe if a decision is due or the horizon is reached.

    Args:
        state: the batch.
        which: (k,) int64, numbers of the devices.
        actions: (n,) int64, a candidate of `buffers.sets[i]` for each device; -1 leaves the decision due.
        feed: the requests, an `Input`.
        question: what is asked, a `Question`.
        buffers: a `View` whose arrays have the device as a first axis.
        status: (n,) int64, to write to: what `advance` or `apply` would have returned.

    Returns:
        How many of the devices do not wait for a decision now.
    """
    others = 0
    asked = point_to(question)
    for k in range(which.shape[0]):
        i = which[k]
        dev = deciding(state, i, question.rules, question.external, question.pairs)
        status[i] = OK
        control = dev.control[0]
        if actions[i] >= 0 and control.decision_plane >= 0:
            buffers.taken[i].clock = control.clock
            buffers.taken[i].now = control.now
            status[i] = settled(dev, settle_choice(dev, buffers.sets[i, actions[i]], actions[i]))
        if status[i] == OK:
            requests = feed.requests[i, : feed.counts[i]]
            status[i] = run_loop(dev, feed.loops[np.int64(dev.params[0].timed)], requests, False)
        if is_decision(status[i]) or status[i] == HORIZON:
            _observe_one(dev, asked, buffers, i)
        if not is_decision(status[i]):
            others += 1
    return others
