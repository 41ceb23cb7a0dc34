"""What a compiled agent reads: its features by address, the shape of its network, and the weights.

Numbers are in single precision, as in PyTorch. Weights of a layer lie by input, so that one input is added to
all outputs at once.
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.core.handle import scratch_of
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.decisions import constants_at

MAX_FEATURES, MAX_WIDTH, MAX_LAYERS, MAX_WEIGHTS = 48, 64, 4, 16_384
#: What a feature of the context is a function of.
CONTEXT_KINDS = ("device", "decision", "page", "die")
OF_DEVICE, OF_DECISION, OF_PAGE, OF_DIE = range(4)
#: The record: where a part of the weights begins follows from the shape.
NETWORK = np.dtype(
    [
        ("features", "i8"),  # of a candidate
        ("entries", "i8"),  # of the context
        ("layers", "i8"),  # hidden ones; 0: what is linear alone
        ("widths", "i8", (MAX_LAYERS,)),
        ("heads", "i8"),
        ("switch", "i8"),  # entry of the context that says which of two heads; -1: there is one
        ("first", "i8", (2,)),  # action of each head
        ("actions", "i8", (2,)),  # of each head
        ("cuts", "i8"),  # of a head
        ("sampled", "i8"),  # pages of a block whose updates are counted
        ("feature", "i8", (MAX_FEATURES,)),  # addresses
        ("entry", "i8", (MAX_FEATURES,)),
        ("entry_kind", "i8", (MAX_FEATURES,)),
        ("weights", "f4", (MAX_WEIGHTS,)),
    ],
    align=True,
)
constants_of = constants_at(NETWORK)
scratch_features = scratch_of(np.dtype(np.float32), MAX_FEATURES)
scratch_units = scratch_of(np.dtype(np.float32), MAX_WIDTH)


@inlined
def add_inputs(weights, at, inputs, count, outputs, width):
    """Add what a layer makes of its inputs to its outputs; return where the weights of the layer end."""
    for i in range(count):
        value, row = inputs[i], at + i * width
        for j in range(width):
            outputs[j] += value * weights[row + j]
    return at + count * width


@inlined
def put_bias(weights, at, outputs, width):
    """Begin the outputs of a layer with its bias; return where that ends."""
    for j in range(width):
        outputs[j] = weights[at + j]
    return at + width


@inlined
def keep_positive(units, width):
    """Set units below 0 to 0."""
    for j in range(width):
        units[j] = max(units[j], np.float32(0.0))


@inlined
def pass_hidden(network, at, units, others):
    """Pass the units of the first hidden layer on to the last one, in place.

    Args:
        network: the NETWORK.
        at: where the weights of the second layer begin, its bias first.
        units: of the first layer, behind its nonlinearity; those of the last one at the end.
        others: scratch as long.

    Returns:
        Where the weights end.
    """
    for layer in range(1, network.layers):
        inputs, width = network.widths[layer - 1], network.widths[layer]
        at = put_bias(network.weights, at, others, width)
        at = add_inputs(network.weights, at, units, inputs, others, width)
        keep_positive(others, width)
        for j in range(width):
            units[j] = others[j]
    return at


@inlined
def look_at_decision(kind, plane, decision):
    """Write what a rule knows of a decision as a whole."""
    decision.kind = kind
    decision.plane = plane
    decision.candidates = 0
    decision.mean_erases = 0.0
    decision.host_pages = 0
    decision.elapsed_ns = 0
