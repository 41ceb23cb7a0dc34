"""Groups of categories: what a configuration costs, which is chosen, and where its pages go later."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssdgym.baselines.dogi.periods import (
    Group,
    HotGroup,
    Room,
    amplification_of,
    best_configuration,
    groups_of,
    targets_of,
    valid_when_collected,
)
from ssdgym.baselines.dogi.records import Log

HOT = HotGroup(traffic=0.4, valid=0.1, life=300)
ROOM = Room(blocks=1000, planes=1, pages_per_block=64, valid=54_000)
BOUNDS = np.arange(1, 10) * 1000


def chain_by_steps(groups: list[Group], hot: HotGroup, last_valid: float) -> float:
    """Follow one host page after the other through the groups: pages programmed for each."""
    flows, host = np.zeros(len(groups) + 1), np.array([hot.traffic, *(0.6 * g.share for g in groups)])
    for _ in range(2000):
        moved = flows * [hot.valid, *(g.moved for g in groups[:-1]), last_valid]
        flows = host + np.array([0, *moved[:-1]])
        flows[-1] += moved[-1]
    return float(flows.sum())


def test_amplification__of_a_chain__as_step_by_step() -> None:
    groups = [Group(0.3, 0.2, 4000), Group(0.3, 0.5, 20_000), Group(0.4, 0.0, math.inf)]
    # 300 * 0.4 pages are 2 blocks, 4000 * (0.18 + 0.04) are 14, 20000 * (0.18 + 0.044) are 70.
    last_pages = (1000 - 2 - 2 - 14 - 70) * 64
    valid = 64 * (2 * mean_valid(0.1) + 14 * mean_valid(0.2) + 70 * mean_valid(0.5))
    last = valid_when_collected(last_pages / (54_000 - valid))
    expected = chain_by_steps(groups, HOT, last)
    assert amplification_of(groups, HOT, ROOM) == pytest.approx(expected, rel=1e-6)


def mean_valid(end: float) -> float:
    """The mean of what falls from 1 to `end` by equal factors."""
    return float(np.mean(end ** ((np.arange(10_000) + 0.5) / 10_000)))


def test_valid_when_collected__solves_its_equation() -> None:
    for spare in (1.02, 1.2, 2.0, 5.0):
        valid = valid_when_collected(spare)
        assert valid == pytest.approx(math.exp(-spare * (1 - valid)), abs=1e-9)
        assert valid < 1 / spare + 1e-9, "less than the mean valid share"


def test_amplification__all_valid_pages_in_groups_before__the_last_one_moves_none() -> None:
    groups = [Group(0.5, 0.2, 4000), Group(0.5, 0.0, math.inf)]
    expected = chain_by_steps(groups, HOT, last_valid=0.0)
    assert amplification_of(groups, HOT, ROOM._replace(valid=100)) == pytest.approx(expected, rel=1e-6)


def test_amplification__what_does_not_fit__is_infinite() -> None:
    assert amplification_of([Group(1, 0, math.inf)], HOT, ROOM._replace(blocks=845)) == math.inf
    assert amplification_of([Group(0.5, 0, 90_000), Group(0.5, 0, math.inf)], HOT, ROOM) == math.inf
    assert amplification_of([Group(0.0005, 0, 900), Group(0.9995, 0, math.inf)], HOT, ROOM) == math.inf


def log(right: float) -> Log:
    """Pages of all categories, of which a share are predicted right and the others anyhow."""
    rng = np.random.default_rng(2)
    intervals = rng.integers(1, 10_001, 4000)
    true = (intervals - 1) // 1000
    anyhow = rng.integers(0, 10, 4000)
    return Log(np.where(rng.random(4000) < right, true, anyhow), intervals, BOUNDS)


def test_groups__shares_and_what_outlives_its_group() -> None:
    some = Log(np.array([0, 0, 1, 5]), np.array([500, 2500, 1500, 9000]), BOUNDS)
    assert groups_of((1, 9), some) == [Group(0.75, 1 / 3, 2000), Group(0.25, 0, math.inf)]


def test_best_configuration__no_other_one_is_better() -> None:
    some = log(0.8)
    found = best_configuration(some, HOT, ROOM, 6)
    assert found is not None
    least, ends = found
    assert amplification_of(groups_of(ends, some), HOT, ROOM) == least
    for mask in range(512):
        ends = (*(k for k in range(9) if mask >> k & 1), 9)
        if len(ends) <= 6:
            assert amplification_of(groups_of(ends, some), HOT, ROOM) >= least


def test_best_configuration__a_better_classifier__costs_less() -> None:
    good, bad = (best_configuration(log(right), HOT, ROOM, 6) for right in (1.0, 0.1))
    assert good is not None
    assert bad is not None
    assert good[0] < bad[0]


def test_best_configuration__device_too_small__none() -> None:
    assert best_configuration(log(0.8), HOT, ROOM._replace(blocks=10), 6) is None


def test_targets__by_the_life_that_is_left__of_those_that_outlive_their_group() -> None:
    predicted = np.array([0, 0, 0, 4, 4, 8])
    intervals = np.array([500, 1000, 9000, 6500, 6000, 9500])
    # Groups up to 1000, 5000 and beyond. Of category 0 two live 0 and 8000 longer: 4000, as in the second.
    # Of category 4 they live 1500 and 1000 longer, as in the second, too; 8 is in the last group.
    targets = targets_of((0, 4, 9), Log(predicted, intervals, BOUNDS))
    assert targets == [2, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    # Those that live 500 longer would go to the first group, which is hotter than their own.
    short = Log(np.array([3, 3]), np.array([5200, 5800]), BOUNDS)
    assert targets_of((0, 4, 9), short)[3] == 1
