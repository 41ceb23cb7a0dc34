"""What DOGI remembers of pages, blocks, streams and the device."""

from typing import Any, NamedTuple

import numpy as np

from ssdgym.policy import kernel

#: Write streams: the hot group, G1 .. G6 and the frozen group.
STREAMS = 8
HOT, FIRST, COLDEST, FROZEN = 0, 1, 6, 7
#: The classifier: its inputs, the width of its two hidden layers, its outputs.
FEATURES, HIDDEN, CATEGORIES = 6, 32, 10
#: Inputs and outputs of its layers, and all their weights and biases.
LAYERS = ((FEATURES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, CATEGORIES))
WEIGHTS = sum((inputs + 1) * outputs for inputs, outputs in LAYERS)
#: Samples of which the classifier is trained, at most.
SAMPLES = 8192
#: Of the byte that holds the interval of a page; so is that of a page that was never written.
LONGEST = 255
#: Blocks that are written while that byte grows by one.
BLOCKS_OF_UNIT = 4
#: Pages that are counted together, or a block if that is more.
CHUNK = 512

PAGE: list[Any] = [
    ("sample", "u2"),  # number of the sample that waits for its next write, from 1
    ("interval", "u1"),  # age in units when it was moved last, 0 if it was not moved since it was written
    ("windows", "u1"),  # bit 7: written in the present window, bit 6: in the one before, ...
    ("category", "u1"),  # that it was written with, from 1; 0 once it was moved, or if it was hot
    ("overwritten", "u1"),  # and not frozen
]
BLOCK: list[Any] = [
    ("opened_at", "i8"),  # clock
    ("sealed_at", "i8"),  # clock + 1, 0 while it is open
    ("chunk_writes", "i8"),  # of the chunk of this number
]
MEMORY: list[Any] = [
    ("due", "i8", (4,)),  # clock at which each kind of work is done next; 0 = not begun
    ("moved", "i8"),  # pages relocated
    ("previous", "i8"),  # logical page of the last host write
    # The bound of the hot group.
    ("mu", "i8"),  # host pages
    ("mu_before", "i8"),
    ("window_start", "i8"),  # clock
    ("window_moved", "i8"),
    ("amplification", "f8"),  # of the window before, 0 = none
    # Groups.
    ("configured", "i8"),  # they are of categories
    ("top", "i8"),  # number of the coldest one
    ("group", "i8", (CATEGORIES + 1,)),  # of each category, from 1; 0 = no category
    ("target", "i8", (CATEGORIES + 1,)),  # of pages that are moved for the first time; 0 = next group
    ("life", "i8", (STREAMS,)),  # host pages after which a block of a group is expired
    ("predicted", "f8"),  # write amplification
    # The hot group since the last training.
    ("host_pages", "i8"),
    ("hot_pages", "i8"),
    ("hot_victims", "i8"),
    ("hot_valid", "i8"),  # pages
    # Samples.
    ("sampled_from", "i8"),  # clocks between which samples are taken
    ("sampled_until", "i8"),
    ("spacing", "i8"),  # one write that is not hot in so many
    ("passed", "i8"),  # such writes since the last sample
    ("samples", "i8"),
    ("features", "f4", (SAMPLES, FEATURES)),
    ("taken_at", "i8", (SAMPLES,)),
    ("lives", "i8", (SAMPLES,)),  # host pages until it was written again, 0 = not yet
    # The classifier.
    ("trained", "i8"),  # how often
    ("accuracy", "f8"),
    ("means", "f4", (FEATURES,)),
    ("scales", "f4", (FEATURES,)),
    ("weights", "f4", (WEIGHTS,)),  # of the layers in order, each from input to output, and its biases
    # Room for its sums, 0 between two calls: compiled rules can make no arrays.
    ("inputs", "f4", (FEATURES,)),
    ("hidden", "f4", (2, HIDDEN)),
    ("outputs", "f4", (CATEGORIES,)),
]


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
    first = _layer(memory.inputs, memory.weights, 0, memory.hidden[0])
    _rectify(memory.hidden[0])
    first = _layer(memory.hidden[0], memory.weights, first, memory.hidden[1])
    _rectify(memory.hidden[1])
    _layer(memory.hidden[1], memory.weights, first, memory.outputs)
    best = 0
    for j in range(1, CATEGORIES):
        if memory.outputs[j] > memory.outputs[best]:
            best = j
    memory.inputs[:] = np.float32(0)
    memory.hidden[:] = np.float32(0)
    memory.outputs[:] = np.float32(0)
    return best + 1


@kernel
def _layer(inputs, weights, first, outputs):
    """Compute a layer whose weights begin at the first one; return where those of the next one do."""
    width = len(outputs)
    biases = first + len(inputs) * width
    for j in range(width):
        outputs[j] = weights[biases + j]
    for i in range(len(inputs)):
        for j in range(width):
            outputs[j] += inputs[i] * weights[first + i * width + j]
    return biases + width


@kernel
def _rectify(values):
    for j in range(len(values)):
        if values[j] < np.float32(0):
            values[j] = np.float32(0)


#: Shares of the samples that are held out, and of the hidden values that are dropped while training.
HELD_OUT, DROPOUT = 0.1, 0.4
EPOCHS, BATCH, WEIGHT_DECAY = 15, 128, 1e-5
#: Passes over few samples go on until so many batches have been seen. With hundreds of batches in place of
#: the prototype's tens of thousands, steps have to be longer than its 3e-4.
LEAST_BATCHES, LEARNING_RATE = 600, 1e-2
#: Of Adam.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Network(NamedTuple):
    """What the classifier computes with, float32."""

    mean: np.ndarray  # of each feature, shape (6,)
    scale: np.ndarray  # one over the deviation of each feature, shape (6,)
    weights: np.ndarray  # of all layers, as the records keep them, shape (WEIGHTS,)

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the category of each row of features (rows, 6), from 0, shape (rows,)."""
        parts = _parts_of(self.weights)
        return np.argmax(_forward(parts, (features - self.mean) * self.scale)[-1], axis=1)


class Log(NamedTuple):
    """What a classifier says of pages whose lives are known."""

    predicted: np.ndarray  # category of each page, from 0, shape (rows,)
    intervals: np.ndarray  # true life of each, shape (rows,), host pages
    bounds: np.ndarray  # the largest life of each category but the last, shape (9,), host pages

    @property
    def pages(self) -> np.ndarray:
        """How many pages are of each category, by the predicted and the true one, shape (10, 10)."""
        true = categories_of(self.intervals, self.bounds)
        counts = np.bincount(self.predicted * CATEGORIES + true, minlength=CATEGORIES**2)
        return counts.reshape(CATEGORIES, CATEGORIES)

    @property
    def accuracy(self) -> float:
        """The share of the pages whose category is predicted."""
        return float(np.trace(self.pages) / len(self.intervals))


def categories_of(intervals: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the category of each interval, from 0."""
    return np.searchsorted(bounds, intervals, side="left")


def deciles(intervals: np.ndarray) -> np.ndarray:
    """Return bounds that cut the intervals into ten equal parts, shape (9,)."""
    ordered = np.sort(intervals)
    return ordered[[len(ordered) * k // CATEGORIES for k in range(1, CATEGORIES)]]


def train(features: np.ndarray, intervals: np.ndarray, seed: tuple[int, ...]) -> tuple[Network, Log]:
    """Train a network on samples; return it, and what it says of the one in ten that are held out.

    Args:
        features: shape (rows, 6) float32.
        intervals: host pages until each page was written again, shape (rows,).
        seed: of the order, the first weights and what is dropped.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(intervals))
    held, used = np.split(order, [max(int(len(order) * HELD_OUT), 1)])
    bounds = deciles(intervals[used])
    mean, deviation = features[used].mean(0), features[used].std(0)
    scale = 1 / np.where(deviation > 0, deviation, 1)
    network = Network(mean.astype(np.float32), scale.astype(np.float32), _first_weights(rng))
    _fit(
        network.weights,
        (features[used] - network.mean) * network.scale,
        categories_of(intervals[used], bounds),
        rng,
    )
    return network, Log(network.predict(features[held]), intervals[held], bounds)


def _first_weights(rng: np.random.Generator) -> np.ndarray:
    """Draw weights as for layers with ReLU (He et al.); biases are 0."""
    parts = [
        part
        for inputs, outputs in LAYERS
        for part in (rng.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs), np.zeros(outputs))
    ]
    return _joined(parts).astype(np.float32)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts])


def _parts_of(weights: np.ndarray) -> list[np.ndarray]:
    """Return the weights and the biases of each layer, in order, as views."""
    shapes = [shape for inputs, outputs in LAYERS for shape in ((inputs, outputs), (outputs,))]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(weights, ends), shapes, strict=True)]


def _forward(
    weights: list[np.ndarray], inputs: np.ndarray, masks: tuple[np.ndarray, ...] = ()
) -> list[np.ndarray]:
    """Return the inputs and the outputs of each layer; a mask says what is left of a hidden one."""
    outputs = [inputs]
    for layer in range(3):
        values = outputs[-1] @ weights[2 * layer] + weights[2 * layer + 1]
        if layer < 2:
            values = np.maximum(values, 0)
            if masks:
                values = values * masks[layer]
        outputs.append(values)
    return outputs


def _gradients(
    weights: list[np.ndarray], inputs: np.ndarray, classes: np.ndarray, masks: tuple[np.ndarray, ...]
) -> list[np.ndarray]:
    """Return the gradients of the mean cross-entropy by the weights, in their order."""
    outputs = _forward(weights, inputs, masks)
    shifted = outputs[-1] - outputs[-1].max(1, keepdims=True)
    errors = np.exp(shifted)
    errors /= errors.sum(1, keepdims=True)
    errors[np.arange(len(classes)), classes] -= 1
    errors /= np.float32(len(classes))
    found: list[np.ndarray] = []
    for layer in (2, 1, 0):
        found = [outputs[layer].T @ errors, errors.sum(0), *found]
        if layer:
            errors = (errors @ weights[2 * layer].T) * masks[layer - 1] * (outputs[layer] > 0)
    return found


def _fit(weights: np.ndarray, inputs: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> None:
    """Change the weights in place, by Adam with weight decay."""
    parts = _parts_of(weights)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    batches = -(-len(classes) // BATCH)
    step = 0
    for _ in range(max(EPOCHS, -(-LEAST_BATCHES // batches))):
        order = rng.permutation(len(classes))
        kept = rng.random((2, len(classes), HIDDEN), dtype=np.float32) >= DROPOUT
        for start in range(0, len(classes), BATCH):
            step += 1
            rows = order[start : start + BATCH]
            masks = kept[:, start : start + BATCH] * np.float32(1 / (1 - DROPOUT))
            found = _gradients(parts, inputs[rows], classes[rows], (masks[0], masks[1]))
            gradient = _joined(found) + np.float32(WEIGHT_DECAY) * weights
            first += np.float32(1 - BETA_1) * (gradient - first)
            second += np.float32(1 - BETA_2) * (gradient * gradient - second)
            rate = LEARNING_RATE / (1 - BETA_1**step)
            root = np.sqrt(second / np.float32(1 - BETA_2**step)) + np.float32(EPSILON)
            weights -= np.float32(rate) * first / root
