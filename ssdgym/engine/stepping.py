"""One step of many devices in one call: apply actions, advance to the next decision, observe, reward.

The tuples of arrays that a step uses are stored once, and a step is called with their addresses. Several
threads may work on one step: each claims devices until none is left. Devices share no state, so the result
does not depend on which thread steps which device.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numba import types

from ssdgym.engine.core import pointer
from ssdgym.engine.core.family import State, family_of
from ssdgym.engine.core.kernel import address_of, entry, entry_for, function_at, inlined
from ssdgym.engine.core.observed import OUTSIDE
from ssdgym.engine.core.pointer import STORED_BYTES
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.core.status import END_OF_LIFE, FIRST_DECISION, HORIZON, OK, PERIOD_DUE
from ssdgym.engine.decisions import device_type
from ssdgym.engine.entries import TUPLES, bind_device, loop_addresses, lost_counter, settled
from ssdgym.engine.observation import ObservationBuffers, ObservationSpec, Shared, Tally
from ssdgym.engine.operations import family_apply_action, family_observe, family_run_loop

#: Tasks for a device: carry out its action and advance; observe it; compute its reward; copy its shown
#: counters. After ADVANCE a device is observed only at a decision, at the horizon or at the end of its life;
#: rewards and counters follow only at a decision.
ADVANCE, DESCRIBE, REWARD, INFO = 1, 2, 4, 8
#: `Stepper.run` returns NOT_DONE while other threads work. It adds OUT_OF_BOUNDS if a feature's value is out
#: of the feature's bounds.
NOT_DONE, OUT_OF_BOUNDS = -1, 1 << 32

#: Indices in `Shared.words`: number of devices not claimed; number of devices done; tasks of the step;
#: whether only the first thread works; from `_CLAIMED` up, how many devices each thread has claimed and not
#: done. The used items are `_WORDS_APART` items, a cache line, apart.
_LEFT, _DONE, _TASKS, _ALONE, _CLAIMED, _WORDS_APART = 0, 8, 16, 24, 32, 8
#: Iterations of the loop that waits for other threads (about 0.25 ms), and of the loop in which a helping
#: thread waits for a step (about 0.05 ms).
_ROUNDS, _IDLE_ROUNDS = 10_000, 2_000
#: A thread claims its share of the devices, on average, in this number of portions.
_PARTS = 8
_LINE = 64


@inlined
def _is_decision(status):
    """Return whether a device has stopped because a decision is due outside the engine."""
    return FIRST_DECISION <= status < PERIOD_DUE


@inlined
def _reward(tally, i):
    """Compute the reward of a device since its last reward, and the terms of the reward."""
    reward, k = 0.0, 0
    for t in range(tally.ends.shape[0]):
        total = 0.0
        while k < tally.ends[t]:
            total += np.float64(pointer.number_at(tally.counters[k, i])) * tally.costs[k, i]
            k += 1
        tally.terms[t, i] = tally.totals[t, i] - total
        tally.totals[t, i] = total
        reward += tally.weights[t] * tally.terms[t, i]
    if tally.pays[0]:
        reclaimed = pointer.number_at(tally.reclaiming[0, i]) * tally.reclaimed_pages[i] - pointer.number_at(
            tally.reclaiming[1, i]
        )
        reward += tally.price[i] * np.float64(reclaimed - tally.reclaimed[i])
        tally.reclaimed[i] = reclaimed
    tally.reward[i] = reward / tally.unit[i]


@entry
def _visit(dev, view, spec, shared, tally, i, tasks):
    """Carry out the tasks for one device."""
    if tasks & ADVANCE:
        # Carry out the chosen action, and advance to the next decision.
        control, action = dev.control[0], shared.actions[i]
        status = np.int64(OK)
        if action >= 0 and control.decision_plane >= 0:
            view.taken.clock = control.clock
            view.taken.now = control.now
            status = settled(dev, family_apply_action(dev, view.sets[action], action))
        if status == OK:
            requests = shared.requests[i, : shared.counts[i]]
            status = family_run_loop(dev, shared.loops[np.int64(dev.params[0].timed)], requests, False)
        shared.actions[i] = -1
        shared.status[i] = status
        if not _is_decision(status):
            tasks = DESCRIBE if status in (HORIZON, END_OF_LIFE) else 0
    if tasks & DESCRIBE:
        family_observe(dev, spec, view)
    if tasks & REWARD:
        _reward(tally, i)
    if tasks & INFO:
        tally.shown[0, i] = dev.control[0].clock - view.taken.clock
        for k in range(tally.shown_counters.shape[0]):
            tally.shown[k + 1, i] = pointer.number_at(tally.shown_counters[k, i])


#: (device, view, spec, shared, tally, number of the device, tasks), the first five as addresses.
_VISIT = types.void(*[types.int64] * 7)
_visit_at = function_at(types.FunctionType(_VISIT))


@inlined
def _work(at, shared, spec, thread):
    """Claim devices and visit them, until all are claimed."""
    words, portion = shared.words, shared.portion
    left = pointer.add_to(words, _LEFT, -portion)
    while left > 0:
        claimed = min(portion, left)
        words[_CLAIMED + thread * _WORDS_APART] = claimed
        tasks = words[_TASKS]
        for k in range(left - claimed, left):
            i = shared.which[k]
            _visit_at(shared.visit)(shared.devices[i], shared.views[i], spec, at, shared.tally, i, tasks)
        words[_CLAIMED + thread * _WORDS_APART] = 0
        pointer.add_to(words, _DONE, claimed)
        left = pointer.add_to(words, _LEFT, -portion)


@inlined
def _finish(shared, count):
    """Wait, for a while, until all devices are done; return NOT_DONE or how many wait for no decision."""
    for _ in range(_ROUNDS):
        if pointer.read(shared.words, _DONE) == count:
            others = np.int64(0)
            for k in range(count):
                others += not _is_decision(shared.status[shared.which[k]])
            for thread in range(shared.outside.shape[0]):
                if shared.outside[thread].column != 0:
                    others |= OUT_OF_BOUNDS
            return others
        pointer.pause()
    return np.int64(NOT_DONE)


@entry
def _run(shared, at, spec, which, tasks):
    count, words = which.shape[0], shared.words
    for k in range(count):
        shared.which[k] = which[k]
    words[_TASKS] = tasks
    words[_DONE] = 0
    pointer.exchange(words, _LEFT, count)  # from here on, threads claim devices
    _work(at, shared, spec, 0)
    return _finish(shared, count)


@entry
def _help(shared, at, spec, thread):
    """Work on steps until there has been no step for `_IDLE_ROUNDS` iterations."""
    idle = 0
    while idle < _IDLE_ROUNDS:
        idle += 1
        if pointer.read(shared.words, _LEFT) > 0 and pointer.read(shared.words, _ALONE) == 0:
            _work(at, shared, spec, thread)
            idle = 0
        pointer.pause()


_wait = entry(_finish.py_func)


@entry
def _give_up(shared, thread):
    """Count all devices as done that thread `thread`, or no thread, has claimed."""
    left = max(pointer.exchange(shared.words, _LEFT, 0), 0)
    pointer.add_to(shared.words, _DONE, shared.words[_CLAIMED + thread * _WORDS_APART] + left)


@entry
def _first_invalid(shared, which):
    for k in range(which.shape[0]):
        action = shared.actions[which[k]]
        if action < 0 or action >= shared.mask.shape[1] or shared.mask[which[k], action] == 0:
            return which[k]
    return -1


@entry
def _store(value, address):
    pointer.store_at(value, address)


@entry
def _store_view(views, i, address):
    sets, features, mask = views.sets[i], views.features[i], views.mask[i]
    pointer.store_at(
        ObservationBuffers(sets, features, mask, views.context[i], views.proposed[i], views.taken[i]), address
    )


class _Memory:
    """Memory for tuples that compiled code reads, and their addresses, valid while this object exists."""

    def __init__(self, tuples: int) -> None:
        self._bytes = np.zeros(tuples * STORED_BYTES + _LINE, np.uint8)
        first = -(-self._bytes.ctypes.data // _LINE) * _LINE
        self.addresses = [first + STORED_BYTES * k for k in range(tuples)]


@cache
def _visitor(*kinds: Any) -> int:
    return address_of(_visit, types.void(*kinds, types.int64, types.int64))


_NUMBERS = types.Array(types.int64, 1, "C")


class Stepper:
    """Compiled steps of devices of one family.

    Args:
        state: the devices.
        numbers: index in `views`, `shared` and `tally` of each device of `state`, int64.
        questions: specification of observations for each thread; no two share scratch arrays.
        views: buffers for the observations. Their arrays have the device as first axis.
        shared: arrays of steps, used by all steppers. This stepper's `devices` and `views` are filled in.
        tally: inputs and outputs of rewards, used by all steppers.

    Attributes:
        outside: (threads,) OUTSIDE, the first value out of bounds that each thread has found.
        run: function (which, tasks): carry out tasks, a sum of `ADVANCE`, `DESCRIBE`, `REWARD` and `INFO`,
            for the devices `which`, int64 (m,). Returns `NOT_DONE`, or how many of these devices wait for no
            decision, plus `OUT_OF_BOUNDS` if a feature's value is out of its bounds.
        wait: function (m): wait for a step of m devices; call it again while it returns `NOT_DONE`.
        helpers: for each thread except the first, a function that works on steps until none comes.
        give_up: function (thread): after an error in a thread, count its and all unclaimed devices as done.
        first_invalid: function (which): return the first of the devices whose action its mask forbids, or -1.
    """

    def __init__(
        self,
        state: State,
        numbers: np.ndarray,
        questions: Sequence[ObservationSpec],
        views: ObservationBuffers,
        shared: Shared,
        tally: Tally,
    ) -> None:
        count, threads = len(numbers), len(questions)
        self.outside = np.zeros(threads, OUTSIDE)
        bound = [one._replace(outside=self.outside[t : t + 1]) for t, one in enumerate(questions)]
        self._state, self._question = state, bound[0]
        self._pairs = np.zeros((count, MAX_PAIRS), ERASE_PAIR)
        self._devices, self._views = _Memory(count * TUPLES), _Memory(count)
        self._stored = _Memory(threads + 2)
        self._words = np.zeros(_CLAIMED + threads * _WORDS_APART, np.int64)
        one_view = ObservationBuffers(*(array[0] for array in views))
        kinds = [pointer.pointer_type(one) for one in (one_view, bound[0], shared, tally)]
        at_tally, at_shared, *at_questions = self._stored.addresses
        shared.devices[numbers] = self._devices.addresses[::TUPLES]
        shared.views[numbers] = self._views.addresses
        shared = shared._replace(
            visit=_visitor(device_type(family_of(state).arrays), *kinds),
            tally=at_tally,
            loops=loop_addresses(state),
            outside=self.outside,
            words=self._words,
            portion=count if threads == 1 else max(count // (_PARTS * threads), 1),
        )
        for value, address in zip((tally, shared, *bound), self._stored.addresses, strict=True):
            _store(value, address)
        for k, number in enumerate(numbers):
            self.bind(k)
            _store_view(views, number, self._views.addresses[k])
        self._kept = tally, shared, bound, views
        self._connect(kinds[2], at_shared, at_questions)
        self._count_lost = lost_counter(state)

    def _connect(self, shared: Any, at: int, questions: list[int]) -> None:
        """Set the attributes that are functions: compile them for the type of `shared`, bind addresses."""
        one, two = types.int64, (types.int64, types.int64)
        self.run = partial(entry_for(_run, shared, *two, _NUMBERS, one), at, at, questions[0])
        self.first_invalid = partial(entry_for(_first_invalid, shared, _NUMBERS), at)
        self.wait = partial(entry_for(_wait, shared, one), at)
        self.give_up = partial(entry_for(_give_up, shared, one), at)
        self.helpers = [
            partial(entry_for(_help, shared, *two, one), at, at, spec, thread)
            for thread, spec in enumerate(questions[1:], 1)
        ]

    def stand_aside(self, aside: bool) -> None:
        """Stop all threads except the first from taking devices, or let them take devices again."""
        self._words[_ALONE] = aside

    def count_lost(self, k: int) -> int:
        """Count the lost pages of the `k`-th device of the state."""
        return int(self._count_lost(self._devices.addresses[k * TUPLES]))

    def bind(self, k: int) -> None:
        """Store the `k`-th device of the state again, after its parameters have changed."""
        bound, address = self._question, self._devices.addresses[k * TUPLES]
        bind_device(self._state, k, bound.rules, bound.external, self._pairs[k], address)
