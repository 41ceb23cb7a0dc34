"""What DOGI reads off a page that the host writes, and the classifier as it runs in the engine."""

import numpy as np

from ssdgym.baselines.dogi.records import (
    BLOCKS_OF_UNIT,
    CATEGORIES,
    CHUNK,
    FEATURES,
    LONGEST,
)
from ssdgym.policy import kernel


@kernel
def interval_of(view, lpn, page, clock):
    """Return the time since a page was written by the host, in units of four blocks, 255 at most.

    Every block that it has been in counts whole units from when the block was full on: the sum is too low
    rather than too high.

    Args:
        view: of the placement.
        lpn: the logical page.
        page: the physical page that holds it, -1 for none: the answer then is 255.
        clock: to which the time counts, host pages.
    """
    if page < 0:
        return LONGEST
    pages = view.params[0].pages_per_block
    sealed_at = view.block_memory[page // pages].sealed_at
    age = max(clock - sealed_at + 1, 0) if sealed_at > 0 else 0
    return min(view.page_memory[lpn].interval + age // (BLOCKS_OF_UNIT * pages), LONGEST)


@kernel
def is_hot(view, interval):
    """Return whether a page that is written after so many units goes to the hot group."""
    return interval * BLOCKS_OF_UNIT * view.params[0].pages_per_block < view.memory[0].mu


@kernel
def chunk_of(view, lpn):
    """Return the block whose record counts the writes of the chunk that a page is in."""
    return lpn // max(CHUNK, view.params[0].pages_per_block)


@kernel
def read_features(view, lpn, interval, inputs):
    """Write the six inputs of the classifier, of a page before it is written, to an array of float32.

    They are the logical page; that of the host write before; the interval; a number whose bits are the
    windows in which the page was written, the present one the highest; how many these are; and how often the
    chunk was written.
    """
    windows = view.page_memory[lpn].windows
    count = 0
    for bit in range(8):
        count += windows >> bit & 1
    inputs[0] = lpn
    inputs[1] = view.memory[0].previous
    inputs[2] = interval
    inputs[3] = windows
    inputs[4] = count
    inputs[5] = view.block_memory[chunk_of(view, lpn)].chunk_writes


@kernel
def category_of(view, lpn, interval):
    """Return the category of a page before it is written, from 1.

    All sums are of float32 and run over the inputs of a layer in order, beginning with the bias. The largest
    output counts, of equals the first.
    """
    memory = view.memory[0]
    read_features(view, lpn, interval, memory.inputs)
    for k in range(FEATURES):
        memory.inputs[k] = (memory.inputs[k] - memory.means[k]) * memory.scales[k]
    _layer(memory.inputs, memory.weights_1, memory.biases_1, memory.hidden[0])
    _rectify(memory.hidden[0])
    _layer(memory.hidden[0], memory.weights_2, memory.biases_2, memory.hidden[1])
    _rectify(memory.hidden[1])
    _layer(memory.hidden[1], memory.weights_3, memory.biases_3, memory.outputs)
    best = 0
    for j in range(1, CATEGORIES):
        if memory.outputs[j] > memory.outputs[best]:
            best = j
    memory.inputs[:] = np.float32(0)
    memory.hidden[:] = np.float32(0)
    memory.outputs[:] = np.float32(0)
    return best + 1


@kernel
def _layer(inputs, weights, biases, outputs):
    for j in range(len(outputs)):
        outputs[j] = biases[j]
    for i in range(len(inputs)):
        for j in range(len(outputs)):
            outputs[j] += inputs[i] * weights[i, j]


@kernel
def _rectify(values):
    for j in range(len(values)):
        if values[j] < np.float32(0):
            values[j] = np.float32(0)
