"""The update interval distribution: counted in hooks, corrected for what the epoch has cut off."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.baselines.midas.records import Intervals, corrected, unit_of
from ssdgym.engine.view import view_arrays
from ssdgym.policy import get_policy
from ssdgym.simulator import Simulator
from tests.engine.devices import device, writes


def exact_histogram(lpns: list[int], unit: int, bins: int) -> tuple[list[int], int]:
    """The intervals by bin, and how many pages are written once."""
    counts, last = [0] * bins, {}
    for now, lpn in enumerate(lpns):
        if lpn in last:
            counts[min((now - last[lpn]) // unit, bins - 1)] += 1
        last[lpn] = now
    return counts, sum(lpns.count(lpn) == 1 for lpn in last)


def test_hooks__count_the_intervals_of_an_epoch() -> None:
    geometry = {"channels": 1, "blocks_per_plane": 64, "pages_per_block": 8}
    policy = get_policy("midas")
    sim = Simulator(device(geometry, logical_pages=200), policy=policy)
    sim.fill()
    rng = np.random.default_rng(5)
    before, epoch = rng.integers(0, 200, 200), (200 * rng.random(1500) ** 3).astype(int)
    sim.run(writes(before))  # no epoch yet
    sim.run(writes(epoch))
    assert "placement" in policy.beside
    view = view_arrays(sim.state, 0, policy.beside["placement"].memory, "place")
    memory = view.memory[0]
    bins = 4 * 64 * 8 // 2
    assert (memory.epoch, memory.unit, memory.epoch_pages) == (1, 2, 4 * 64 * 8)
    counts, once = exact_histogram(epoch.tolist(), 2, bins)
    assert view.block_memory.intervals.reshape(-1)[:bins].tolist() == counts
    assert np.count_nonzero(view.page_memory.stamp[:200] > 0) == once


@pytest.mark.parametrize(("pages_per_block", "unit"), [(256, 64), (8, 2), (6, 2), (4, 1)])
def test_unit__a_quarter_of_a_block(pages_per_block: int, unit: int) -> None:
    assert unit_of(pages_per_block) == unit


def test_corrected__by_hand() -> None:
    """Of intervals of 2 bins in an epoch of 5, those that begin in the last bins are cut off."""
    # left = ((5 mod 2) * 2 + 2) / 4 = 1: one more of five beginnings in each stretch of 2 bins
    assert corrected(np.array([7, 0, 10, 0, 0]), 3).tolist() == [7, 0, 10 + 4, 0, 3 + 1]


def test_intervals__sums_up_to_each_bin() -> None:
    intervals = Intervals(np.array([2, 1, 3]), 0.5)
    assert intervals.upto.tolist() == [0, 2, 3, 6]
    assert intervals.summed_upto.tolist() == [0, 2, 5, 11]
    assert intervals.length_upto.tolist() == [0, 0, 0.5, 3.5]
    assert intervals.first_from(np.array([0.0, 0.4, 0.5, 9.0])).tolist() == [0, 1, 1, 3]
