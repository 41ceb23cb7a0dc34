"""The compiled rules of agents: they read features of the device and evaluate the network."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.wear import mean_erases
from ssdgym.engine.core.bits import quotient
from ssdgym.engine.core.handle import number_of, scratch_of
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.observed import (
    CANDIDATE,
    DECISION,
    DIE_SEEN,
    PAGE_SEEN,
    STREAM_SEEN,
    candidate_feature_at,
    decision_feature_at,
    device_feature_at,
    die_feature_at,
    page_feature_at,
    stream_feature_at,
)
from ssdgym.engine.core.records import ERASE_PAIR
from ssdgym.engine.decisions import ERASE, IDLE, IDLE_STEPS, LEVEL, PLACE, RELOCATE, constants_at
from ssdgym.engine.erase.features import count_candidate
from ssdgym.engine.page.describing import look_at_die, look_at_page, look_at_stream
from ssdgym.policy import blocks_of, choose_block, eligible, is_closed

MAX_FEATURES, MAX_WIDTH, MAX_LAYERS, MAX_WEIGHTS = 48, 64, 4, 16_384
#: Kinds of context features, by what they describe: the device, the decision, the page to place, a die.
CONTEXT_KINDS = ("device", "decision", "page", "die")
OF_DEVICE, OF_DECISION, OF_PAGE, OF_DIE = range(4)
#: The record of a network. The sizes in it determine where each part of the weights begins.
NETWORK = np.dtype(
    [
        ("features", "i8"),  # number of features of a candidate
        ("entries", "i8"),  # number of features of the context
        ("layers", "i8"),  # number of hidden layers; 0: only the linear part is computed
        ("widths", "i8", (MAX_LAYERS,)),  # units of each hidden layer
        ("heads", "i8"),  # number of heads of an ordinal network
        ("switch", "i8"),  # index of the context feature that chooses between two heads; -1: one head
        ("first", "i8", (2,)),  # first action of each head
        ("actions", "i8", (2,)),  # number of actions of each head
        ("thresholds", "i8"),  # number of thresholds that are stored for each head
        ("sampled", "i8"),  # pages of a block that are sampled to count updates; 0: features need no updates
        ("feature", "i8", (MAX_FEATURES,)),  # addresses of the candidate features' functions
        ("entry", "i8", (MAX_FEATURES,)),  # addresses of the context features' functions
        ("entry_kind", "i8", (MAX_FEATURES,)),  # kind of each context feature (`OF_DEVICE`, ...)
        ("weights", "f4", (MAX_WEIGHTS,)),
    ],
    align=True,
)
_constants_of = constants_at(NETWORK)
_scratch_features = scratch_of(np.dtype(np.float32), MAX_FEATURES)
_scratch_units = scratch_of(np.dtype(np.float32), MAX_WIDTH)


@inlined
def _add_inputs(weights, at, inputs, count, outputs, width):
    """Add a layer's `count` weighted inputs to its `width` outputs; return the index after its weights."""
    for i in range(count):
        value, row = inputs[i], at + i * width
        for j in range(width):
            outputs[j] += value * weights[row + j]
    return at + count * width


@inlined
def _put_bias(weights, at, outputs, width):
    """Set the outputs of a layer to its bias; return the index after the bias."""
    for j in range(width):
        outputs[j] = weights[at + j]
    return at + width


@inlined
def _keep_positive(units, width):
    """Set units below 0 to 0."""
    for j in range(width):
        units[j] = max(units[j], np.float32(0.0))


@inlined
def _pass_hidden(network, at, units, others):
    """Compute the hidden layers from the second to the last.

    Args:
        network: the NETWORK.
        at: index in the weights at which the second layer begins, with its bias.
        units: units of the first hidden layer; on return, those of the last hidden layer.
        others: scratch array of the same length.

    Returns:
        The index after the last weight.
    """
    for layer in range(1, network.layers):
        inputs, width = network.widths[layer - 1], network.widths[layer]
        at = _put_bias(network.weights, at, others, width)
        at = _add_inputs(network.weights, at, units, inputs, others, width)
        _keep_positive(others, width)
        for j in range(width):
            units[j] = others[j]
    return at


@inlined
def _look_at_decision(kind, plane, decision):
    """Fill the DECISION record that functions of features read; fields that rules cannot compute are 0."""
    decision.kind = kind
    decision.plane = plane
    decision.candidates = 0
    decision.mean_erases = 0.0
    decision.host_pages = 0
    decision.elapsed_ns = 0


_scratch_candidate, _scratch_decision = scratch_of(CANDIDATE, 1), scratch_of(DECISION, 1)
_scratch_page, _scratch_die = scratch_of(PAGE_SEEN, 1), scratch_of(DIE_SEEN, 1)
_scratch_stream, _scratch_pair = scratch_of(STREAM_SEEN, 1), scratch_of(ERASE_PAIR, 1)


@inlined
def _entry(network, k, handle, decision, page, die):
    """Return the value of context feature `k`."""
    address, kind = network.entry[k], network.entry_kind[k]
    if kind == OF_DEVICE:
        return device_feature_at(address)(handle)
    if kind == OF_DECISION:
        return decision_feature_at(address)(handle, decision)
    if kind == OF_DIE:
        return die_feature_at(address)(handle, die)
    return page_feature_at(address)(handle, page)


@inlined
def _read_features(network, handle, decision, page, die, features):
    """Write the centred and scaled context features to `features`; return the number of the head to use."""
    weights, entries, head = network.weights, network.entries, np.int64(0)
    for k in range(entries):
        value = _entry(network, k, handle, decision, page, die)
        if k == network.switch and value > 0.5:
            head = np.int64(1)
        features[k] = (np.float32(value) - weights[k]) * weights[entries + k]
    return head


@inlined
def _action_of(network, features, head, units, others):
    """Return the head's first action plus the number of thresholds below the head's number `z`."""
    weights, entries, heads = network.weights, network.entries, network.heads
    at = 2 * entries
    number = weights[at + entries * heads + head]
    for k in range(entries):
        number += features[k] * weights[at + head * entries + k]
    at += (entries + 1) * heads
    thresholds = at + head * network.thresholds
    at += network.thresholds * heads
    if network.layers > 0:
        width = network.widths[0]
        at = _put_bias(weights, at, units, width)
        at = _add_inputs(weights, at, features, entries, units, width)
        _keep_positive(units, width)
        at = _pass_hidden(network, at, units, others)
        last = network.widths[network.layers - 1]
        number += weights[at + head * (last + 1)]
        for j in range(last):
            number += units[j] * weights[at + head * (last + 1) + 1 + j]
    action = network.first[head]
    for k in range(network.actions[head] - 1):
        if number > weights[thresholds + k]:
            action += 1
    return action


@inlined
def _read_page(network, view, plane, lpn, source, features):
    """Write the features of page `lpn` to `features`; return the head. `source` < 0 for a host page."""
    decision, page, die = _scratch_decision()[0], _scratch_page()[0], _scratch_die()[0]
    _look_at_decision(PLACE if source < 0 else RELOCATE, plane, decision)
    look_at_page(view, plane, lpn, source, page)
    return _read_features(network, number_of(view), decision, page, die, features)


def place_page(view, plane, lpn, source, parameters):
    """Return the stream that the network chooses for a page."""
    network = _constants_of(parameters)[0]
    features, units, others = _scratch_features(), _scratch_units(), _scratch_units()
    head = _read_page(network, view, plane, lpn, source, features)
    return _action_of(network, features, head, units, others)


def collect_idle(view, die_number, gap_ns, parameters):
    """Return how many commands of background GC an idle die may run; 0 if it has nothing to collect."""
    network, handle = _constants_of(parameters)[0], number_of(view)
    decision, page, die = _scratch_decision()[0], _scratch_page()[0], _scratch_die()[0]
    look_at_die(view, die_number, die)
    if not die.collects:
        return 0
    features, units, others = _scratch_features(), _scratch_units(), _scratch_units()
    _look_at_decision(IDLE, die.plane, decision)
    head = _read_features(network, handle, decision, page, die, features)
    return IDLE_STEPS[_action_of(network, features, head, units, others)]


@inlined
def _share(network, handle, decision, page, die, units):
    """Write the part of the first layer that all candidates share to `units`.

    Return the index after this part's weights; 0, with `units` unchanged, if there is no hidden layer.
    """
    if network.layers == 0:
        return np.int64(0)
    weights, width = network.weights, network.widths[0]
    at = _put_bias(weights, 0, units, width)
    for k in range(network.entries):
        value = np.float32(_entry(network, k, handle, decision, page, die))
        for j in range(width):
            units[j] += value * weights[at + j]
        at += width
    return at


@inlined
def _correct(network, at, features, shared, units, others):
    """Return the part of a candidate's score that the hidden layers compute; its weights begin at `at`."""
    width = network.widths[0]
    for j in range(width):
        units[j] = shared[j]
    at = _add_inputs(network.weights, at, features, network.features, units, width)
    _keep_positive(units, width)
    at = _pass_hidden(network, at, units, others)
    score = network.weights[at]
    for j in range(network.widths[network.layers - 1]):
        score += units[j] * network.weights[at + 1 + j]
    return score


@inlined
def _score(network, at, features, shared, units, others):
    """Return the score of a candidate: the linear part plus the part of the hidden layers."""
    score, linear = np.float32(0.0), np.int64(len(network.weights)) - network.features  # its weights are last
    for k in range(network.features):
        score += features[k] * network.weights[linear + k]
    if network.layers > 0:
        score += _correct(network, at, features, shared, units, others)
    return score


def score_streams(view, plane, lpn, source, parameters):
    """Return the stream with the highest score for a page; of several such streams, the lowest number."""
    network, handle = _constants_of(parameters)[0], number_of(view)
    decision, stream = _scratch_decision()[0], _scratch_stream()[0]
    page, die = _scratch_page()[0], _scratch_die()[0]  # `die` stays unused
    features, shared = _scratch_features(), _scratch_units()
    units, others = _scratch_units(), _scratch_units()
    _look_at_decision(PLACE if source < 0 else RELOCATE, plane, decision)
    look_at_page(view, plane, lpn, source, page)
    at = _share(network, handle, decision, page, die, shared)
    best, best_score = np.int64(0), np.float32(0.0)
    for number in range(network.actions[0]):
        look_at_stream(view, plane, number, stream)
        for k in range(network.features):
            features[k] = np.float32(stream_feature_at(network.feature[k])(handle, stream, page))
        score = _score(network, at, features, shared, units, others)
        if number == 0 or score > best_score:
            best, best_score = np.int64(number), score
    return best


@inlined
def _read_block(network, view, choice, block, stride, decision, candidate, features):
    """Write the choice of a whole block to `choice`, and the block's features to `features`."""
    handle = number_of(view)
    choose_block(view, choice, block)
    count_candidate(view, choice, 1, stride, candidate)
    for k in range(network.features):
        value = candidate_feature_at(network.feature[k])(handle, candidate, decision)
        features[k] = np.float32(value)


def score_blocks(view, plane, parameters, choice):
    """Choose the eligible block with the highest score; of several such blocks, the lowest number."""
    network = _constants_of(parameters)[0]
    decision, candidate = _scratch_decision()[0], _scratch_candidate()[0]
    page, die = _scratch_page()[0], _scratch_die()[0]  # no feature reads them
    features, shared = _scratch_features(), _scratch_units()
    units, others = _scratch_units(), _scratch_units()
    _look_at_decision(ERASE, plane, decision)
    at = _share(network, number_of(view), decision, page, die, shared)
    stride = np.int64(0)
    if network.sampled > 0:
        stride = max(quotient(view.params[0].pages_per_block, network.sampled), 1)
    best, best_score = np.int64(-1), np.float32(0.0)
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        _read_block(network, view, choice, block, stride, decision, candidate, features)
        score = _score(network, at, features, shared, units, others)
        if best < 0 or score > best_score:
            best, best_score = block, score
    return choose_block(view, choice, best)


def level_wear(view, plane, parameters):
    """Return the closed block with the highest score.

    Return -1, for no move, if no block scores higher than a candidate whose features are all 0.
    """
    network = _constants_of(parameters)[0]
    decision, candidate, pair = _scratch_decision()[0], _scratch_candidate()[0], _scratch_pair()
    page, die = _scratch_page()[0], _scratch_die()[0]  # no feature reads them
    features, shared = _scratch_features(), _scratch_units()
    units, others = _scratch_units(), _scratch_units()
    _look_at_decision(LEVEL, plane, decision)
    decision.mean_erases = mean_erases(view, plane)
    at = _share(network, number_of(view), decision, page, die, shared)
    for k in range(network.features):
        features[k] = np.float32(0.0)
    best, best_score = np.int64(-1), _score(network, at, features, shared, units, others)
    for block in blocks_of(view, plane):
        if not is_closed(view, block):
            continue
        _read_block(network, view, pair, block, 0, decision, candidate, features)
        score = _score(network, at, features, shared, units, others)
        if score > best_score:
            best, best_score = block, score
    return best


#: Largest number of decisions that a recorder stores; later decisions are not recorded.
ROOM = 1 << 16
#: The record of a network, followed by the placement decisions that `place_and_note` has recorded.
RECORDER = np.dtype(
    [
        *((name, NETWORK[name]) for name in NETWORK.names or ()),
        ("used", "i8"),  # number of recorded decisions
        ("clock", "i8", (ROOM,)),  # host pages written before the decision
        ("lpn", "i4", (ROOM,)),
        ("head", "i1", (ROOM,)),
        ("written", "i1", (ROOM,)),  # whether the host wrote the page; 0: it was relocated
        ("seen", "f4", (ROOM * MAX_FEATURES,)),  # centred and scaled features, decision after decision
    ],
    align=True,
)
_recorder_of = constants_at(RECORDER)


def place_and_note(view, plane, lpn, source, parameters):
    """Return the stream that the network chooses for a page, and record the page's features."""
    network, recorder = _constants_of(parameters)[0], _recorder_of(parameters)[0]
    features, units, others = _scratch_features(), _scratch_units(), _scratch_units()
    head = _read_page(network, view, plane, lpn, source, features)
    used = recorder.used
    if used < ROOM:
        recorder.clock[used] = view.control[0].clock
        recorder.lpn[used] = lpn
        recorder.head[used] = head
        recorder.written[used] = source < 0
        for k in range(network.entries):
            recorder.seen[used * network.entries + k] = features[k]
        recorder.used = used + 1
    return _action_of(network, features, head, units, others)
