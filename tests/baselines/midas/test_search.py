"""The search for a configuration."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.baselines.midas.model import MOST_GROUPS, Measured, Model, search
from ssdgym.baselines.midas.records import Intervals
from tests.baselines.midas.workload import PURE, zipf_model

IMPURE = Measured(traffic=0.2, valid=0.15, blocks=4)


@pytest.mark.parametrize("theta", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("measured", [PURE, IMPURE], ids=["computed", "measured"])
def test_search__no_change_of_one_size_is_better(measured: Measured, theta: float) -> None:
    model = zipf_model(measured, theta)
    found = search(model)
    assert found is not None
    assert sum(found.sizes) + found.hot.blocks == model.blocks
    assert (2 if measured is PURE else 1) <= len(found.sizes) <= MOST_GROUPS
    *fixed, _ = found.sizes
    cost, ratios = model.predict(found.hot, fixed)
    assert cost[0] == found.amplification
    assert tuple(float(one[0]) for one in ratios) == found.ratios
    for place in range(len(fixed)):
        room = found.sizes[place] + found.sizes[-1] - model.margin
        for size in range(1, room + 1):
            changed = [*fixed[:place], size, *fixed[place + 1 :]]
            assert model.predict(found.hot, changed)[0][0] >= found.amplification


@pytest.mark.parametrize("measured", [PURE, IMPURE], ids=["computed", "measured"])
def test_search__no_group_more_is_better(measured: Measured) -> None:
    model = zipf_model(measured)
    found = search(model)
    assert found is not None
    *fixed, last = found.sizes
    if len(found.sizes) < MOST_GROUPS:
        cost, _ = model.predict(found.hot, (*fixed, np.arange(1, last - model.margin + 1)))
        assert cost.min() >= found.amplification


def test_search__limit_of_the_groups__is_kept() -> None:
    found = search(zipf_model(), most_groups=2)
    assert found is not None
    assert len(found.sizes) == 2


def test_search__groups_that_nothing_reaches__are_no_prediction() -> None:
    """Behind the last interval no page is left: its groups have nothing to take a ratio of."""
    counts = np.zeros(2048, int)
    counts[[10, 200, 400]] = [500, 300, 200]
    model = Model(Intervals(counts, 0.25), 32, 3400, 124, 3, Measured(0.1, 0.05, 2))
    hot = model.hot(2)
    assert hot is not None
    cost, _ = model.predict(hot, (np.arange(1, 100), 5, 5))
    assert np.isinf(cost[-1])
    found = search(model)
    assert found is None or np.isfinite(found.amplification)


def test_search__nothing_ever_dies__no_configuration() -> None:
    counts = np.zeros(2048, int)
    counts[-1] = 1000
    assert search(Model(Intervals(counts, 0.25), 32, 4000, 124, 3, PURE)) is None
