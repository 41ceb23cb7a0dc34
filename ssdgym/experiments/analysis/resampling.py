"""Resampling score matrices, many replicates at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssdgym.errors import SsdgymError

Scores = NDArray[np.float64]

#: Scores held at a time while resampling; bounds the memory, changes no number.
_SCORES_AT_A_TIME = 1 << 21


def finite_matrix(scores: ArrayLike) -> Scores:
    """``scores`` as a matrix of shape ``(runs, tasks)``.

    Raises:
        SsdgymError: they are empty, not two-dimensional or not finite.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise SsdgymError(f"scores must be a non-empty matrix of (runs, tasks), not of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise SsdgymError("scores must be finite numbers, and one of them is not")
    return matrix


def portions(replicates: int, scores: int) -> Iterator[int]:
    """Split the replicates into portions that, with so many scores each, take a bounded amount of memory."""
    portion = max(1, _SCORES_AT_A_TIME // scores)
    for first in range(0, replicates, portion):
        yield min(portion, replicates - first)


def resample(matrix: Scores, rng: np.random.Generator, count: int) -> Scores:
    """``count`` matrices ``(count, runs, tasks)``, the runs of every task drawn with replacement."""
    rows = rng.integers(0, matrix.shape[0], size=(count, *matrix.shape))
    return np.take_along_axis(matrix[np.newaxis], rows, axis=1)


def limits(samples: list[Scores], confidence: float) -> tuple[Scores, Scores]:
    """The limits of the percentile interval over the replicates, the first axis of every portion."""
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(np.concatenate(samples), [tail, 100.0 - tail], axis=0)
    return low, high
