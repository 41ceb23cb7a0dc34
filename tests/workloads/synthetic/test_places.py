"""Ranks follow the power law, and the layout is a permutation."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.workloads.synthetic.marginals import Layout, PowerLaw

THETAS = [0.0, 0.5, 1.0 - 1e-7, 1.0, 1.2, 3.0]


@pytest.mark.parametrize("theta", THETAS)
def test_power_law__ranks_have_the_integral_as_their_weight(theta: float) -> None:
    shares = np.diff(PowerLaw(50, theta).below(np.arange(51.0)))
    edges = np.arange(1, 52.0)
    primitive = np.log(edges) if abs(theta - 1) < 1e-6 else edges ** (1 - theta) / (1 - theta)
    np.testing.assert_allclose(shares, np.diff(primitive) / (primitive[-1] - primitive[0]), rtol=1e-5)


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("ranks", [1, 7, 1_000_000])
def test_power_law__draws_follow_it(theta: float, ranks: int) -> None:
    law = PowerLaw(ranks, theta)
    drawn = law.at((np.arange(100_000) + 0.5) / 100_000)
    assert drawn.min() >= 0
    assert drawn.max() < ranks
    for first in (1, ranks // 2, ranks):
        assert (drawn < first).mean() == pytest.approx(float(law.below(np.array(float(first)))), abs=1e-4)


@pytest.mark.parametrize("theta", THETAS)
def test_power_law__draws_stay_in_range_at_the_ends(theta: float) -> None:
    law = PowerLaw(1_000_003, theta)
    first, last = law.at(np.array([0.0, np.nextafter(1.0, 0.0)]))
    assert first == 0
    # Doubles end at 1 - 2 ** -53, which with a steep law is a little before the last rank.
    assert 999_000 < last <= 1_000_002


@pytest.mark.parametrize("ranks", [1, 2, 4095, 4096, 4097, 5000, 3_000_000])
def test_power_law__bins_hold_every_rank_once(ranks: int) -> None:
    counts, probability = PowerLaw(ranks, 0.9).bins()
    assert counts.sum() == ranks
    assert counts @ probability == pytest.approx(1)
    assert len(counts) < 5000


@pytest.mark.parametrize("extents", [1, 2, 3, 5, 64, 65, 1000, 4096, 100_003])
def test_layout__is_a_permutation(extents: int) -> None:
    places = Layout(extents, 0)(np.arange(extents))
    np.testing.assert_array_equal(np.sort(places), np.arange(extents))


def test_layout__seeds_differ_and_neighbours_part() -> None:
    ranks = np.arange(10_000)
    first, second = Layout(10_000, 0)(ranks), Layout(10_000, 1)(ranks)
    assert (first == second).mean() < 0.01
    assert abs(np.corrcoef(ranks, first)[0, 1]) < 0.05
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.05
    assert len(np.unique(np.diff(first))) > 5000
