"""Rules of the engine by which agents choose victims, and record what befalls blocks."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.compiled.network import (
    MAX_FEATURES,
    NETWORK,
    OF_DEVICE,
    action_of,
    add_inputs,
    constants_of,
    keep_positive,
    look_at_decision,
    pass_hidden,
    put_bias,
    read_page,
    scratch_features,
    scratch_units,
)
from ssdgym.agents.compiled.packing import CompiledNetwork
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
from ssdgym.engine.decisions import ERASE, constants_at
from ssdgym.engine.erase.features import count_candidate
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


#: Decisions that are noted; later ones are not.
ROOM = 1 << 16
#: A network, and behind it what was seen.
RECORDER = np.dtype(
    [
        *((name, NETWORK[name]) for name in NETWORK.names or ()),
        ("used", "i8"),
        ("clock", "i8", (ROOM,)),  # host pages before the decision
        ("lpn", "i4", (ROOM,)),
        ("head", "i1", (ROOM,)),
        ("written", "i1", (ROOM,)),  # whether by the host
        ("seen", "f4", (ROOM * MAX_FEATURES,)),  # features, centred and scaled, one decision after another
    ],
    align=True,
)
_recorder_of = constants_at(RECORDER)


class RecordingNetwork(CompiledNetwork):
    """The network of a placement that notes what it sees."""

    dtype = RECORDER


def place_and_note(view, plane, lpn, source, parameters):
    """Put a page into the stream that the network has for it, and note what was seen of it."""
    network, recorder = constants_of(parameters)[0], _recorder_of(parameters)[0]
    features, units, others = scratch_features(), scratch_units(), scratch_units()
    head = read_page(network, view, plane, lpn, source, features)
    used = recorder.used
    if used < ROOM:
        recorder.clock[used] = view.control[0].clock
        recorder.lpn[used] = lpn
        recorder.head[used] = head
        recorder.written[used] = source < 0
        for k in range(network.entries):
            recorder.seen[used * network.entries + k] = features[k]
        recorder.used = used + 1
    return action_of(network, features, head, units, others)
