"""The step of many devices in one call: apply actions, advance to the next decision, observe, reward.

All that a step reads and writes lies in arrays that stay and is stored for compiled code once; a step is then
called with addresses. Several threads may work on one step: each claims devices until none is left. Devices
share nothing that is written to, so which thread takes which device makes no difference.
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

#: What is to be done with a device: carry out its action and go on; describe it, after going on only at a
#: decision or the horizon; reward it, and show its counters, after going on only at a decision.
ADVANCE, DESCRIBE, REWARD, INFO = 1, 2, 4, 8
#: What `Stepper.run` returns where other threads are not done, and adds where a feature was out of bounds.
NOT_DONE, OUT_OF_BOUNDS = -1, 1 << 32

#: Words of `Shared.words`, each in a line of the cache of its own: how many devices are not claimed, how
#: many are done, what is done with them, and whether threads but the first stand aside; from `_CLAIMED` on,
#: how many each thread has claimed last.
_LEFT, _DONE, _TASKS, _ALONE, _CLAIMED, _WORDS_APART = 0, 8, 16, 24, 32, 8
#: Rounds of a loop that waits for other threads to end, a quarter of a millisecond or so, and for a step, a
#: fifth of that.
_ROUNDS, _IDLE_ROUNDS = 10_000, 2_000
#: A thread claims a part of this many of its share of the devices.
_PARTS = 8
_LINE = 64


@inlined
def _is_decision(status):
    """Return whether a device has stopped because a decision is due outside."""
    return FIRST_DECISION <= status < PERIOD_DUE


@inlined
def _reward(tally, i):
    """Write the reward of a device since the last one, and the terms that make it up."""
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
        # Carry out what was chosen, and go on to the next decision.
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
    """Visit devices until all are claimed."""
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
    """Return how many devices do not wait for a decision; NOT_DONE if other threads take long."""
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
    """Work on steps until there has been none for a while."""
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
    """Count claimed devices as done and leave none to claim; return how many were left."""
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
    """Bytes that tuples are stored in for compiled code, good as long as this object; has their addresses."""

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
        numbers: indices of the devices in `views`, `shared` and `tally`, int64.
        questions: the request for observations, one for each thread with its own scratch arrays.
        views: where observations go, a `ObservationBuffers` whose arrays have the device as a first axis.
        shared: what other steppers share; `devices` and `views` are filled in.
        tally: what rewards are made of; also shared.

    Attributes:
        outside: (threads,) OUTSIDE, what threads have noted of values out of bounds.
        run: (which, tasks), int64 (m,) and a sum of `ADVANCE`, `DESCRIBE`, `REWARD` and `INFO`: does that
            with devices. Returns how many wait for no decision, with `OUT_OF_BOUNDS` added; or `NOT_DONE`.
        wait: (m,), to be called until it returns another value than `NOT_DONE`.
        helpers: for each thread but the first what works on steps in it, until there is none for a while.
        give_up: (thread), takes what a thread has left undone, where code of a user failed, as done.
        first_invalid: (which), returns the first device whose action may not be chosen, or -1.
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
        """Compile for the type of the shared arrays, and keep the addresses for all calls."""
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
        """Count the lost pages of a device, the `k`-th of the state, as `count_lost` of entries."""
        return int(self._count_lost(self._devices.addresses[k * TUPLES]))

    def bind(self, k: int) -> None:
        """Store a device again, the `k`-th of the state: its parameters have changed."""
        bound, address = self._question, self._devices.addresses[k * TUPLES]
        bind_device(self._state, k, bound.rules, bound.external, self._pairs[k], address)
