"""A skewed workload's intervals, for tests of the model and the search."""

from __future__ import annotations

import numpy as np

from ssdgym.baselines.midas.model import Measured, Model
from ssdgym.baselines.midas.records import Intervals, corrected

PAGES_PER_BLOCK, BLOCKS, LOGICAL_PAGES = 32, 128, 3400
#: Lets the model choose the size of the hot group.
PURE = Measured(traffic=0.3, valid=0.02, blocks=3)


def zipf_intervals(theta: float = 1.0, seed: int = 0) -> Intervals:
    """The histogram of an epoch of writes, page `k` being written in proportion to `1 / k**theta`."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, LOGICAL_PAGES + 1) ** theta
    lpns = rng.choice(LOGICAL_PAGES, 4 * BLOCKS * PAGES_PER_BLOCK, p=weights / weights.sum())
    unit, bins = PAGES_PER_BLOCK // 4, 16 * BLOCKS
    counts, last = np.zeros(bins, int), np.full(LOGICAL_PAGES, -1)
    for now, lpn in enumerate(lpns):
        if last[lpn] >= 0:
            counts[(now - last[lpn]) // unit] += 1
        last[lpn] = now
    once = int(np.count_nonzero(np.bincount(lpns) == 1))
    return Intervals(corrected(counts, once), unit / PAGES_PER_BLOCK)


def zipf_model(measured: Measured = PURE, theta: float = 1.0) -> Model:
    """The model of a device of 17 % over-provisioning."""
    return Model(zipf_intervals(theta), PAGES_PER_BLOCK, LOGICAL_PAGES, BLOCKS - 4, 3, measured)
