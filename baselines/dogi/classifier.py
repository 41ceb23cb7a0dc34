"""The classifier of DOGI: a small network that is trained on the lives of pages, with numpy alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ssdgym.baselines.dogi.records import CATEGORIES, FEATURES, HIDDEN

#: Shares of the samples that are held out, and of the hidden values that are dropped while training.
HELD_OUT, DROPOUT = 0.1, 0.4
EPOCHS, BATCH, WEIGHT_DECAY = 15, 128, 1e-5
#: Passes over few samples go on until so many batches have been seen. With hundreds of batches in place of
#: the prototype's tens of thousands, steps have to be longer than its 3e-4.
LEAST_BATCHES, LEARNING_RATE = 600, 1e-2
#: Of Adam.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8

_SHAPES = ((FEATURES, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, CATEGORIES), (CATEGORIES,))


class Network(NamedTuple):
    """What the classifier computes with, float32.

    Attributes:
        mean: of each feature, shape (6,).
        scale: one over the deviation of each feature, shape (6,).
        weights: of the layers in order, each followed by its biases; a weight from input `i` to output `j` is
            at `[i, j]`.
    """

    mean: np.ndarray
    scale: np.ndarray
    weights: list[np.ndarray]

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the category of each row, from 0, shape (rows,).

        Args:
            features: shape (rows, 6) float32.
        """
        return np.argmax(_forward(self.weights, (features - self.mean) * self.scale)[-1], axis=1)


class Trained(NamedTuple):
    """A network, and what it says of the samples that were held out.

    Attributes:
        network: the classifier.
        bounds: intervals up to which a page is of each category but the last, shape (9,), host pages.
        predicted: category of each sample that was held out, from 0, shape (rows,).
        intervals: true interval of each of them, shape (rows,), host pages.
    """

    network: Network
    bounds: np.ndarray
    predicted: np.ndarray
    intervals: np.ndarray

    @property
    def accuracy(self) -> float:
        """Return the share of the samples held out whose category is predicted."""
        return float(np.mean(self.predicted == categories_of(self.intervals, self.bounds)))


def categories_of(intervals: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the category of each interval, from 0.

    Args:
        intervals: shape (rows,), host pages.
        bounds: the largest interval of each category but the last, shape (9,).
    """
    return np.searchsorted(bounds, intervals, side="left")


def deciles(intervals: np.ndarray) -> np.ndarray:
    """Return bounds that cut the intervals into ten equal parts, shape (9,)."""
    ordered = np.sort(intervals)
    return ordered[[len(ordered) * k // CATEGORIES for k in range(1, CATEGORIES)]]


def train(
    features: np.ndarray, intervals: np.ndarray, seed: tuple[int, ...], bounds: np.ndarray | None = None
) -> Trained:
    """Train a network on samples, of which one in ten is held out.

    Args:
        features: shape (rows, 6) float32.
        intervals: host pages until each page was written again, shape (rows,).
        seed: of the order, the first weights and what is dropped.
        bounds: of the categories, shape (9,); `None` for deciles of the intervals that are trained on.

    Returns:
        The network, and its predictions for the samples held out.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(intervals))
    held, used = np.split(order, [max(int(len(order) * HELD_OUT), 1)])
    if bounds is None:
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
    return Trained(network, bounds, network.predict(features[held]), intervals[held])


def _first_weights(rng: np.random.Generator) -> list[np.ndarray]:
    """Draw weights as for layers with ReLU (He et al.); biases are 0."""
    return [
        (rng.standard_normal(shape) * np.sqrt(2 / shape[0]) if len(shape) == 2 else np.zeros(shape)).astype(
            np.float32
        )
        for shape in _SHAPES
    ]


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


def _fit(
    weights: list[np.ndarray],
    inputs: np.ndarray,
    classes: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Change the weights in place, by Adam with weight decay."""
    # All weights in one array, of which the layers are parts: a step is a few operations, not dozens.
    flat = np.concatenate([part.ravel() for part in weights])
    ends = np.cumsum([part.size for part in weights])[:-1]
    parts = [part.reshape(shape) for part, shape in zip(np.split(flat, ends), _SHAPES, strict=True)]
    first, second = np.zeros_like(flat), np.zeros_like(flat)
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
            gradient = np.concatenate([part.ravel() for part in found]) + np.float32(WEIGHT_DECAY) * flat
            first += np.float32(1 - BETA_1) * (gradient - first)
            second += np.float32(1 - BETA_2) * (gradient * gradient - second)
            rate = LEARNING_RATE / (1 - BETA_1**step)
            root = np.sqrt(second / np.float32(1 - BETA_2**step)) + np.float32(EPSILON)
            flat -= np.float32(rate) * first / root
    for part, found_part in zip(weights, parts, strict=True):
        part[:] = found_part
