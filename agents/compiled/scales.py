"""A scale network as a placement and as a rule for idle dies: one number, and how many cuts lie below it."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.compiled.network import (
    OF_DECISION,
    OF_DEVICE,
    OF_DIE,
    add_inputs,
    constants_of,
    keep_positive,
    look_at_decision,
    pass_hidden,
    put_bias,
    scratch_features,
    scratch_units,
)
from ssdgym.engine.core.handle import number_of, scratch_of
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.observed import (
    DECISION,
    DIE_SEEN,
    PAGE_SEEN,
    decision_feature_at,
    device_feature_at,
    die_feature_at,
    page_feature_at,
)
from ssdgym.engine.decisions import IDLE, IDLE_STEPS, PLACE, RELOCATE
from ssdgym.engine.idling import look_at_die
from ssdgym.engine.placing import look_at_page

_scratch_decision = scratch_of(DECISION, 1)
_scratch_page, _scratch_die = scratch_of(PAGE_SEEN, 1), scratch_of(DIE_SEEN, 1)


@inlined
def _read_features(network, handle, decision, page, die, features):
    """Write the context, centred and scaled; return which head the decision is of."""
    weights, entries, head = network.weights, network.entries, np.int64(0)
    for k in range(entries):
        address, kind = network.entry[k], network.entry_kind[k]
        if kind == OF_DEVICE:
            value = device_feature_at(address)(handle)
        elif kind == OF_DECISION:
            value = decision_feature_at(address)(handle, decision)
        elif kind == OF_DIE:
            value = die_feature_at(address)(handle, die)
        else:
            value = page_feature_at(address)(handle, page)
        if k == network.switch and value > 0.5:
            head = np.int64(1)
        features[k] = (np.float32(value) - weights[k]) * weights[entries + k]
    return head


@inlined
def action_of(network, features, head, units, others):
    """Return the first action of the head, and one more for every cut below its number."""
    weights, entries, heads = network.weights, network.entries, network.heads
    at = 2 * entries
    number = weights[at + entries * heads + head]
    for k in range(entries):
        number += features[k] * weights[at + head * entries + k]
    at += (entries + 1) * heads
    cuts = at + head * network.cuts
    at += network.cuts * heads
    if network.layers > 0:
        width = network.widths[0]
        at = put_bias(weights, at, units, width)
        at = add_inputs(weights, at, features, entries, units, width)
        keep_positive(units, width)
        at = pass_hidden(network, at, units, others)
        last = network.widths[network.layers - 1]
        number += weights[at + head * (last + 1)]
        for j in range(last):
            number += units[j] * weights[at + head * (last + 1) + 1 + j]
    action = network.first[head]
    for k in range(network.actions[head] - 1):
        if number > weights[cuts + k]:
            action += 1
    return action


@inlined
def read_page(network, view, plane, lpn, source, features):
    """Write the features of a page that is placed; return which head places it."""
    decision, page, die = _scratch_decision()[0], _scratch_page()[0], _scratch_die()[0]
    look_at_decision(PLACE if source < 0 else RELOCATE, plane, decision)
    look_at_page(view, plane, lpn, source, page)
    return _read_features(network, number_of(view), decision, page, die, features)


def place_page(view, plane, lpn, source, parameters):
    """Put a page into the stream that the network has for it."""
    network = constants_of(parameters)[0]
    features, units, others = scratch_features(), scratch_units(), scratch_units()
    head = read_page(network, view, plane, lpn, source, features)
    return action_of(network, features, head, units, others)


def collect_idle(view, die_number, gap_ns, parameters):
    """Let an idle die go on with collecting as far as the network has it."""
    network, handle = constants_of(parameters)[0], number_of(view)
    decision, page, die = _scratch_decision()[0], _scratch_page()[0], _scratch_die()[0]
    look_at_die(view, die_number, die)
    if not die.collects:
        return 0
    features, units, others = scratch_features(), scratch_units(), scratch_units()
    look_at_decision(IDLE, die.plane, decision)
    head = _read_features(network, handle, decision, page, die, features)
    return IDLE_STEPS[action_of(network, features, head, units, others)]
