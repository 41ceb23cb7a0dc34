"""A candidate scorer as a victim rule: every block that may be erased is scored."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.compiled.network import (
    OF_DEVICE,
    add_inputs,
    constants_of,
    keep_positive,
    look_at_decision,
    pass_hidden,
    put_bias,
    scratch_features,
    scratch_units,
)
from ssdgym.engine.core.bits import quotient
from ssdgym.engine.core.handle import number_of, scratch_of
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.observed import (
    CANDIDATE,
    DECISION,
    candidate_feature_at,
    decision_feature_at,
    device_feature_at,
)
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.erase.tallies import count_candidate
from ssdgym.policy import blocks_of, choose_block, eligible

_scratch_candidate, _scratch_decision = scratch_of(CANDIDATE, 1), scratch_of(DECISION, 1)


@inlined
def _share(network, handle, decision, units):
    """Write what all candidates have in common of the first layer; return where its weights end."""
    weights, width = network.weights, network.widths[0]
    at = put_bias(weights, 0, units, width)
    for k in range(network.entries):
        if network.entry_kind[k] == OF_DEVICE:
            value = np.float32(device_feature_at(network.entry[k])(handle))
        else:
            value = np.float32(decision_feature_at(network.entry[k])(handle, decision))
        for j in range(width):
            units[j] += value * weights[at + j]
        at += width
    return at


@inlined
def _correct(network, at, features, shared, units, others):
    """Return the network's part of the score of a candidate."""
    width = network.widths[0]
    for j in range(width):
        units[j] = shared[j]
    at = add_inputs(network.weights, at, features, network.features, units, width)
    keep_positive(units, width)
    at = pass_hidden(network, at, units, others)
    score = network.weights[at]
    for j in range(network.widths[network.layers - 1]):
        score += units[j] * network.weights[at + 1 + j]
    return score


def score_blocks(view, plane, parameters, choice):
    """Choose the eligible block with the highest score; of equals, the lowest number."""
    network = constants_of(parameters)[0]
    handle = number_of(view)
    decision, candidate = _scratch_decision()[0], _scratch_candidate()[0]
    features, shared, units, others = (
        scratch_features(),
        scratch_units(),
        scratch_units(),
        scratch_units(),
    )
    look_at_decision(ERASE, plane, decision)
    at = np.int64(0)
    if network.layers > 0:
        at = _share(network, handle, decision, shared)
    linear = np.int64(len(network.weights)) - network.features  # they stand at the end
    stride = np.int64(0)
    if network.sampled > 0:
        stride = max(quotient(view.params[0].pages_per_block, network.sampled), 1)
    best, best_score = np.int64(-1), np.float32(0.0)
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        choose_block(view, choice, block)
        count_candidate(view, choice, 1, stride, candidate)
        score = np.float32(0.0)
        for k in range(network.features):
            value = candidate_feature_at(network.feature[k])(handle, candidate, decision)
            features[k] = np.float32(value)
            score += features[k] * network.weights[linear + k]
        if network.layers > 0:
            score += _correct(network, at, features, shared, units, others)
        if best < 0 or score > best_score:
            best, best_score = block, score
    return choose_block(view, choice, best)
