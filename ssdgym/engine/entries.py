"""The entry points: advance, apply, observe, for one device or for a batch in one call.

The two loops, in time and without, are compiled apart, each when it is first needed. The step of a batch
reaches them by address, so that they are not compiled into it again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import address_of, entry, function_at, inlined
from ssdgym.engine.core.status import FIRST_DECISION, HORIZON, ILLEGAL_ANSWER, NO_DECISION, OK
from ssdgym.engine.decisions import ERASE, PAIRS_TYPE, RULES_TYPE, decision_code
from ssdgym.engine.erase.candidate_table import pairs_of
from ssdgym.engine.erase.candidates import Proposers
from ssdgym.engine.erase.features import View, observe_plane
from ssdgym.engine.page.event_loop import advance_timed
from ssdgym.engine.page.gc_round import start_round
from ssdgym.engine.page.state import ARRAYS
from ssdgym.engine.page.untimed_loop import advance_untimed
from ssdgym.engine.page.view import deciding
from ssdgym.engine.speedupgc.best_sets import refresh
from ssdgym.engine.speedupgc.groups import refresh_groups
from ssdgym.requests import REQUEST

#: What both loops are called with: as :func:`advance`.
_SIGNATURE = types.int64(
    ARRAYS.state_type,
    types.int64,
    typeof(np.zeros(1, REQUEST)),
    types.boolean,
    RULES_TYPE,
    types.int64,
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
def _untimed_loop(state, i, requests, last, rules, external, pairs):
    dev = deciding(state, i, rules, external, pairs)
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return _prepare_view(dev, advance_untimed(dev, requests))


@entry
def _timed_loop(state, i, requests, last, rules, external, pairs):
    dev = deciding(state, i, rules, external, pairs)
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    return _prepare_view(dev, advance_timed(dev, requests, last))


_LOOPS = (_untimed_loop, _timed_loop)


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
        INPUT_ENDED, HORIZON, FIRST_DECISION + the kind of the decision due, or a negative error.
    """
    loop = _LOOPS[state.params["timed"][i, 0]]
    return int(loop(state, i, requests, last, rules, external, pairs))


def loop_addresses(state: State) -> np.ndarray:
    """Addresses of the loops a batch needs, shape (2,) int64: untimed, in time; 0 for one it does not
    need.
    """
    needed = np.unique(state.params["timed"])
    addresses = np.zeros(2, np.int64)
    for timed in needed:
        addresses[timed] = address_of(_LOOPS[timed], _SIGNATURE)
    return addresses


@inlined
def _settled(dev, status):
    """After a decision: nothing is asked any more, and what asked goes on."""
    if status == OK:
        control = dev.control[0]
        control.decision_plane = -1
        control.resumes = dev.params[0].timed
    return status


@inlined
def _erase(dev, pairs, count):
    control = dev.control[0]
    if control.decision_plane < 0 or control.decision_kind != ERASE:
        return NO_DECISION
    return _settled(dev, start_round(dev, np.int64(control.decision_plane), pairs, count))


@entry
def apply(state, i, rules, pairs, count):
    """Carry out an ERASE decision, the first ``count`` of ``pairs`` (MAX_PAIRS,): OK, or a negative error
    with the device as it was.
    """
    return _erase(deciding(state, i, rules, 0, pairs), pairs, np.int64(count))


@entry
def answer(state, i, rules, pairs, choice):
    """Answer any other decision by the number of a choice: OK, or an error with the device as it was."""
    dev = deciding(state, i, rules, 0, pairs)
    control = dev.control[0]
    if control.decision_plane < 0 or control.decision_kind == ERASE:
        return NO_DECISION
    if choice < 0 or choice >= dev.params[0].streams:
        return ILLEGAL_ANSWER
    control.answer = choice
    return _settled(dev, OK)


@inlined
def _observe_one(dev, every, proposers, buffers, i):
    control = dev.control[0]
    plane = np.int64(control.decision_plane if control.decision_plane >= 0 else control.host_plane)
    view = View(
        buffers.sets[i], buffers.features[i], buffers.mask[i], buffers.context[i], buffers.proposed[i]
    )
    observe_plane(dev, plane, every, proposers, view)


class Question(NamedTuple):
    """What the devices of a batch are asked, and by whom else decisions are taken."""

    rules: Any  # (kinds,) RULE of the decisions that are not taken outside
    external: Any  # int64: set of the kinds taken outside
    proposers: Any  # (n,) RULE: victim rules whose picks are always among the candidates
    every: Any  # bool: list all erase sets at fixed places
    most_blocks: Any  # int64: most blocks of the sets that fill the table up
    pairs: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch


@inlined
def _proposers_of(question):
    return Proposers(question.proposers, question.pairs, question.most_blocks)


@entry
def observe_batch(state, which, question, buffers):
    """Describe the decisions the devices of ``which`` wait for; at the horizon, one in the plane written
    last.

    ``buffers`` is a :class:`View` whose arrays have the device as a first axis.
    """
    for k in range(which.shape[0]):
        dev = deciding(state, which[k], question.rules, question.external, question.pairs)
        _observe_one(dev, question.every, _proposers_of(question), buffers, which[k])


@entry
def first_invalid_action(mask, actions):
    """The first device whose action is no valid candidate of ``mask`` (n, K), or -1."""
    for i in range(actions.shape[0]):
        if actions[i] < 0 or actions[i] >= mask.shape[1] or mask[i, actions[i]] == 0:
            return i
    return -1


class Input(NamedTuple):
    """The requests of a batch."""

    requests: Any  # (n, m) REQUEST
    counts: Any  # (n,) int64: how many of each device's are there
    loops: Any  # (2,) int64, of `loop_addresses`


@entry
def step_batch(state, which, actions, feed, question, buffers, status):
    """One step of many devices that take their ERASE decisions outside.

    For each device ``i`` of ``which``: if a decision is due, carry out ``actions[i]`` (-1: leave it due)
    among ``buffers.sets[i]``; advance through its input, `feed`; observe if a decision is due or the horizon
    is reached. ``status[i]`` is what ``advance`` or ``apply`` returned; the result is how many of the devices
    do not wait for a decision now.
    """
    others = 0
    proposers = _proposers_of(question)
    for k in range(which.shape[0]):
        i = which[k]
        dev = deciding(state, i, question.rules, question.external, question.pairs)
        status[i] = OK
        if actions[i] >= 0 and dev.control[0].decision_plane >= 0:
            chosen = buffers.sets[i, actions[i]]
            status[i] = _erase(dev, chosen, pairs_of(chosen))
        if status[i] == OK:
            loop = _loop_at(feed.loops[np.int64(dev.params[0].timed)])
            requests = feed.requests[i, : feed.counts[i]]
            status[i] = loop(state, i, requests, False, question.rules, question.external, question.pairs)
        if status[i] >= FIRST_DECISION or status[i] == HORIZON:
            _observe_one(dev, question.every, proposers, buffers, i)
        if status[i] < FIRST_DECISION:
            others += 1
    return others
