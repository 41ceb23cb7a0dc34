"""What the IDLE decision looks like to a learner: how far to go as candidates, and the idle die.

The numbers are features: functions of what is looked at here, called by address. This is compiled only where
such a decision is described.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ssdgym.engine.blocks.index import most_invalid_block
from ssdgym.engine.core.kernel import compiled_address, inlined
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.engine.decisions import IDLE, IDLE_STEPS, TO_THE_END, idle_by_rule
from ssdgym.engine.erase.features import describe_decision, describing_kernels
from ssdgym.engine.flash import invalid_in
from ssdgym.engine.observation import observer_type
from ssdgym.engine.page.collecting import background_plane, move_ns, moves_left
from ssdgym.engine.page.state import ARRAYS
from ssdgym.engine.time.events import NEVER

_ANSWERS = len(IDLE_STEPS)
_describe_answers, _describe_die = describing_kernels("answer", "die")


@inlined
def _invalid_of_round(dev, plane):
    """Return the invalid pages in what the round of a plane is going to erase there."""
    leader = np.int64(dev.plane[plane].round_leader)
    invalid = np.int64(0)
    for k in range(dev.plane[leader].round_count):
        pair = dev.round_pairs[leader * MAX_PAIRS + k]
        if dev.block[pair.block].plane == plane:
            invalid += invalid_in(dev, np.int64(pair.block), pair.mask)
    return invalid


@inlined
def look_at_die(dev, die, seen):
    """Write to DIE_SEEN what an idle die would go on with. Rules call it with their view."""
    plane = np.int64(background_plane(dev, die, NEVER))
    seen.number = die
    seen.collects = plane >= 0
    seen.plane = plane if plane >= 0 else die  # plane d is one of die d
    seen.running = 0
    seen.moves = 0
    seen.invalid = 0
    if plane >= 0 and dev.plane[plane].round_leader >= 0:
        seen.running = 1
        seen.moves = moves_left(dev, plane)
        seen.invalid = _invalid_of_round(dev, plane)
    elif plane >= 0:
        block = np.int64(most_invalid_block(dev, plane))
        record = dev.block[block]
        seen.moves = record.written - record.invalid
        seen.invalid = record.invalid


@inlined
def _look_at_answer(dev, number, die, seen):
    """Write what an answer allows of the round that the die would go on with."""
    steps = np.int64(IDLE_STEPS[number])
    seen.number = number
    seen.commands = min(steps, die.moves + 1) if die.collects else np.int64(0)
    seen.moves = min(seen.commands, die.moves)
    seen.erases = seen.commands > die.moves
    seen.nominal_ns = seen.moves * move_ns(dev) + seen.erases * dev.params[0].erase_ns


@inlined
def _look_at_decision(dev, die, taken, decision):
    control = dev.control[0]
    decision.kind = IDLE
    decision.plane = die.plane
    decision.candidates = _ANSWERS if die.collects else 1
    decision.mean_erases = 0.0
    decision.host_pages = control.clock - taken.clock
    decision.elapsed_ns = control.now - taken.now


@inlined
def _describe_features(dev, spec, view):
    handle, die = dev.decider.victim_view, spec.die[0]
    first = spec.candidate_features.shape[0] + spec.stream_features.shape[0]
    context = spec.context_features.shape[0] + spec.page_features.shape[0]
    features, number = spec.answer_features, first + context
    _describe_answers(spec, handle, features, first, number, spec.answers, _ANSWERS, die, view.features)
    number += features.shape[0]
    _describe_die(spec, handle, spec.die_features, context, number, die, view.context)


@inlined
def _answer_of(commands):
    """Return the number of the largest answer that gives no more commands; a rule that waits gives none."""
    number = 0
    for k in range(1, _ANSWERS):
        if min(commands, TO_THE_END) >= IDLE_STEPS[k]:
            number = k
    return number


@inlined
def _propose(dev, spec, view):
    """Note what the idle rule of the device would answer, and mark it."""
    if dev.decider.rules[IDLE].choose == 0 or not spec.die[0].collects:
        return
    number = _answer_of(np.int64(idle_by_rule(dev, spec.die[0].number, np.int64(-1))))
    view.proposed[0] = number
    if spec.answer_columns[0] >= 0:
        view.features[number, spec.answer_columns[0]] = np.float32(1.0)


def _observe(dev, spec, view, plane):
    """Describe how far an idle die goes as a decision. Pure: the device stays as it is."""
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    die, control = spec.die[0], dev.control[0]
    # At the horizon it is the die that was asked for last.
    asked = control.decision_kind == IDLE and control.decision_subject < dev.params[0].dies
    look_at_die(dev, np.int64(control.decision_subject) if asked else np.int64(0), die)
    for number in range(_ANSWERS):
        view.mask[number] = die.collects or number == 0
        _look_at_answer(dev, number, die, spec.answers[number])
    _look_at_decision(dev, die, view.taken, spec.decision[0])
    _propose(dev, spec, view)
    describe_decision(dev, spec, view.context)
    _describe_features(dev, spec, view)


@cache
def _compiled() -> tuple[int, Any]:
    return compiled_address(_observe, observer_type(ARRAYS))


def idle_describer() -> int:
    """Return the address of what describes IDLE decisions; compiles at first use."""
    return _compiled()[0]
