"""The Markov chain analysis model, against chains that are simulated."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from ssdgym.baselines.midas.model import Hot, Measured, Model, greedy_amplification
from ssdgym.baselines.midas.records import Intervals
from tests.baselines.midas.workload import BLOCKS, PAGES_PER_BLOCK, PURE, zipf_model


def simulated_chain(intervals: Intervals, hot: Hot, sizes: list[int]) -> list[float]:
    """Groups that are queues of blocks, fed by pages whose lives are drawn from the histogram.

    As the model has it, pages come to G1 after the time for which the hot group keeps them; those that live
    shorter are its own.

    Returns:
        The valid ratios of the victims of each group.
    """
    rng = np.random.default_rng(1)
    writes = 60_000
    bins = rng.choice(intervals.bins, writes, p=intervals.counts / intervals.counts.sum())
    # The model lets a bin die where it begins.
    lives = (bins * intervals.width - hot.length) * PAGES_PER_BLOCK
    groups: list[deque[list[float]]] = [deque([[]]) for _ in sizes]  # blocks of times of death
    victims: list[list[float]] = [[] for _ in sizes]

    def put(number: int, death: float, now: int) -> None:
        if number == len(sizes):
            return
        group = groups[number]
        group[-1].append(death)
        if len(group[-1]) < PAGES_PER_BLOCK:
            return
        if len(group) == sizes[number]:
            alive = [one for one in group.popleft() if one > now]
            if now > writes / 2:
                victims[number].append(len(alive) / PAGES_PER_BLOCK)
            for one in alive:
                put(number + 1, one, now)
        group.append([])

    for now, life in enumerate(lives):
        if bins[now] >= hot.bins:
            put(0, now + life, now)
    return [float(np.mean(one)) for one in victims]


@pytest.mark.parametrize("sizes", [[10], [8, 12], [6, 8, 10]])
def test_predict__valid_ratios__as_in_a_simulated_chain(sizes: list[int]) -> None:
    model = zipf_model()
    hot = model.hot(3)
    assert hot is not None
    cost, ratios = model.predict(hot, sizes)
    assert np.isfinite(cost[0])
    simulated = simulated_chain(model.intervals, hot, sizes)
    assert [float(one[0]) for one in ratios[:-1]] == pytest.approx(simulated, abs=0.02)


def loops(model: Model, hot: Hot, sizes: list[int]) -> tuple[list[float], float]:
    """The definition of the chain, bin by bin: valid ratios, and valid pages held before the last group."""
    counts, width = model.intervals.counts.tolist(), model.intervals.width
    alive = float(sum(counts[hot.bins :]))
    past, inflow, held = hot.length, 1 - hot.traffic + hot.traffic * hot.valid, hot.held
    ratios = []
    for size in sizes:
        time, died = size / inflow - 1 / (2 * inflow), 0
        for j, count in enumerate(counts):
            if past <= j * width < past + time:
                died += count
                held += (1 - died / alive) * inflow * width * model.pages_per_block
        ratios.append(1 - died / alive)
        alive, past, inflow = alive - died, past + time, inflow * ratios[-1]
    return ratios, held


@pytest.mark.parametrize("measured", [PURE, Measured(0.2, 0.15, 4)], ids=["computed", "measured"])
def test_predict__many_at_once__as_one_by_one(measured: Measured) -> None:
    model = zipf_model(measured)
    hot = model.hot(2)
    assert hot is not None
    tried = np.arange(1, 40)
    cost, ratios = model.predict(hot, (7, tried, 5))
    assert np.isfinite(cost).any()
    for k, size in enumerate(tried):
        one, [first, second, third, _] = model.predict(hot, (7, int(size), 5))
        assert cost[k] == one[0]
        expected, held = loops(model, hot, [7, int(size), 5])
        assert [first[0], second[0], third[0]] == pytest.approx(expected)
        assert [ratios[i][k] for i in range(3)] == pytest.approx(expected)
        assert held < model.valid_pages or not np.isfinite(one[0])


@pytest.mark.parametrize(
    ("traffic", "hot_valid", "ratios"),
    [(0.3, 0.0, [0.6, 0.8]), (0.2, 0.15, [0.5, 0.7, 0.9]), (0.4, 0.1, [0.8])],
)
def test_cost__is_that_of_the_stationary_chain(traffic: float, hot_valid: float, ratios: list[float]) -> None:
    """Iterated as the authors do: free pages become hot ones or go to G1, valid ones one group on."""
    states = 2 + len(ratios)  # free, hot, G1 .. Gn
    matrix = np.zeros((states, states))
    matrix[0, 1], matrix[0, 2] = traffic, 1 - traffic
    for state, ratio in enumerate([hot_valid, *ratios], 1):
        matrix[state, 0] += 1 - ratio
        matrix[state, min(state + 1, states - 1)] += ratio
    pages = np.full(states, 1 / states)
    for _ in range(4000):
        pages = (pages + pages @ matrix) / 2
    moved = pages[1] * hot_valid + sum(pages[k + 2] * ratio for k, ratio in enumerate(ratios))
    inflow, cost = 1 - traffic + traffic * hot_valid, 1 + traffic * hot_valid
    for ratio in ratios[:-1]:
        inflow *= ratio
        cost += inflow
    assert cost + inflow * ratios[-1] / (1 - ratios[-1]) == pytest.approx(1 + moved / pages[0])


def test_hot__computed__is_as_large_as_wanted_and_no_larger_than_it_has_to() -> None:
    model = zipf_model()
    sizes = [model.hot(wanted) for wanted in range(1, 10)]
    for wanted, hot in enumerate(sizes, 1):
        assert hot is not None
        assert hot.blocks >= wanted
        assert hot.valid == 0
        share = model.intervals.upto[hot.bins] / model.intervals.upto[-1]
        assert hot.traffic == pytest.approx(share)
        shorter = model.intervals.upto[hot.bins - 1] / model.intervals.upto[-1]
        assert np.floor((hot.bins - 1) * model.intervals.width * shorter + 0.5) < wanted
    assert model.hot(10 * BLOCKS) is None


def test_hot__impure_or_small__is_taken_as_measured() -> None:
    for measured in (Measured(0.3, 0.11, 5), Measured(0.14, 0.0, 5)):
        hot = zipf_model(measured).hot(1)
        assert hot is not None
        assert (hot.blocks, hot.traffic, hot.valid) == (5, measured.traffic, measured.valid)
        assert hot.length == pytest.approx(4.5 / measured.traffic)


def test_predict__a_group_that_outlasts_the_epoch__no_prediction() -> None:
    model = zipf_model()
    hot = model.hot(2)
    assert hot is not None
    cost, _ = model.predict(hot, (np.array([20, 100, BLOCKS]),))
    assert np.isfinite(cost).tolist() == [True, False, False]


@pytest.mark.parametrize("spare", [1.07, 1.15, 1.3, 2.0])
def test_greedy_amplification__smallest_thousandth_that_satisfies_the_formula(spare: float) -> None:
    for requests, pages in ((0.8, 0.2), (0.5, 0.5), (0.0, 0.0), (0.3, 0.6)):
        found = float(greedy_amplification(np.array(spare), np.array(requests), np.array(pages)))

        def satisfied(a: float, r: float = requests, f: float = pages) -> bool:
            hot = r / np.expm1(r * spare / (f * a)) if r else 0.0
            return 1 + hot + (1 - r) / np.expm1((1 - r) * spare / ((1 - f) * a)) <= a

        assert satisfied(found)
        assert not satisfied(found - 0.001)
        assert round(found * 1000) == pytest.approx(found * 1000)


def test_greedy_amplification__no_spare__none() -> None:
    assert np.isnan(greedy_amplification(np.array(0.99), np.array(0.5), np.array(0.5)))
