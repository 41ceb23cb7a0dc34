"""Write amplification of uniform random writes against published closed forms and another simulator's values.

Utilisation ``u`` counts the device without the blocks that GC keeps free: when a victim is chosen, one of
those has just been opened and the others wait in the pool, so ``blocks - free_blocks`` blocks hold all data.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import lambertw

from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device, random_writes


def uniform_writes(
    policy: str, *, blocks: int, pages_per_block: int, logical_pages: int, free_blocks: int = 2
) -> Simulator:
    """A full single-stream plane."""
    config = device(
        {"channels": 1, "blocks_per_plane": blocks, "pages_per_block": pages_per_block},
        {"placement": "single", "gc": {"free_blocks": free_blocks}},
        logical_pages=logical_pages,
    )
    sim = Simulator(config, policy=policy, recording=Recording(1, 1))
    sim.fill()
    return sim


def overwrite(sim: Simulator, count: int, seed: int) -> float:
    """Write amplification of so many uniform writes."""
    sim.reset_metrics()
    chunk = 1 << 18
    for number, first in enumerate(range(0, count, chunk)):
        sim.run(random_writes(min(chunk, count - first), sim.logical_pages, seed + number))
    return sim.metrics()["write_amplification"]


def steady(
    policy: str, *, blocks: int, pages_per_block: int, utilisation: float, writes: int, overwrites: int = 4
) -> float:
    """Write amplification in the steady state."""
    logical_pages = round(utilisation * (blocks - 2) * pages_per_block)
    sim = uniform_writes(policy, blocks=blocks, pages_per_block=pages_per_block, logical_pages=logical_pages)
    overwrite(sim, overwrites * logical_pages, seed=1000)
    return overwrite(sim, writes, seed=0)


def fifo_formula(utilisation: float) -> float:
    """``a / (a + W0(-a e^-a))`` with ``a = 1 / u`` (Desnoyers, SYSTOR 2012; Menon, 1995)."""
    a = 1 / utilisation
    return float(a / (a + lambertw(-a * np.exp(-a)).real))


@pytest.mark.parametrize("utilisation", [0.7, 0.8, 0.9])
def test_fifo__lambert_w_formula(utilisation: float) -> None:
    measured = steady("fifo", blocks=2000, pages_per_block=64, utilisation=utilisation, writes=1_000_000)
    assert measured == pytest.approx(fifo_formula(utilisation), rel=0.015)


def d_choices_formula(utilisation: float, pages_per_block: int, d: int) -> float:
    """Van Houdt's mean field (SIGMETRICS 2013), draws among the blocks with an invalid page only.

    With write amplification `a` a block gains its first invalid page as often as one is filled, so a share of
    `a u / b` has none. Of the others, those with `i` valid pages leave by an invalidation as often as victims
    with fewer are replaced: `i x_i = a u (1 - (share with at least i)**d)`.
    """

    def valid_pages(amplification: float) -> float:
        flow = amplification * utilisation
        eligible = 1 - flow / pages_per_block
        total, at_least = flow, 0.0
        for valid in range(pages_per_block - 1, 0, -1):
            share = brentq(
                lambda x, i=valid, more=at_least: i * x - flow * (1 - ((more + x) / eligible) ** d),
                0,
                eligible - at_least,
            )
            total += valid * share
            at_least += share
        return total

    largest = 1 / (1 - utilisation * (1 - 1 / pages_per_block)) + 1e-9
    return float(brentq(lambda a: valid_pages(a) - utilisation * pages_per_block, 1.0, largest))


@pytest.mark.parametrize("policy", ["random", "d_choices(d=1)"])
@pytest.mark.parametrize("utilisation", [0.6, 0.7, 0.8])
def test_random__one_over_one_minus_u(policy: str, utilisation: float) -> None:
    """Van Houdt, SIGMETRICS 2013. Blocks are large, so that hardly one is without an invalid page."""
    measured = steady(policy, blocks=1000, pages_per_block=512, utilisation=utilisation, writes=3_000_000)
    assert measured == pytest.approx(1 / (1 - utilisation), rel=0.015)


@pytest.mark.parametrize("policy", ["random", "d_choices(d=1)"])
@pytest.mark.parametrize(("utilisation", "pages_per_block"), [(0.85, 32), (0.8, 16)])
def test_random__small_blocks__formula_without_blocks_that_are_all_valid(
    policy: str, utilisation: float, pages_per_block: int
) -> None:
    """`1 / (1 - u (1 - 1/b))`; with `1 / (1 - u)`, 18 and 25 % more."""
    expected = 1 / (1 - utilisation * (1 - 1 / pages_per_block))
    measured = steady(
        policy, blocks=4000, pages_per_block=pages_per_block, utilisation=utilisation, writes=1_000_000
    )
    assert measured == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("d", [2, 5, 10])
def test_d_choices__small_blocks__mean_field_without_blocks_that_are_all_valid(d: int) -> None:
    measured = steady(
        f"d_choices(d={d})", blocks=4000, pages_per_block=32, utilisation=0.85, writes=1_000_000
    )
    assert measured == pytest.approx(d_choices_formula(0.85, 32, d), rel=0.005)


def test_d_choices_formula__one_choice__is_that_of_random() -> None:
    assert d_choices_formula(0.85, 32, 1) == pytest.approx(1 / (1 - 0.85 * 31 / 32))


def test_random__small_blocks__below_the_formula_by_the_share_of_blocks_that_are_no_victims() -> None:
    """Only blocks with an invalid page are drawn: with a share ``p`` without, WA = (1 - p) / (1 - u)."""
    utilisation, blocks = 0.85, 4000
    logical_pages = round(utilisation * (blocks - 2) * 32)
    sim = uniform_writes("random", blocks=blocks, pages_per_block=32, logical_pages=logical_pages)
    overwrite(sim, 4 * logical_pages, seed=1000)
    shares = []
    measured = []
    for seed in range(20):
        measured.append(overwrite(sim, 50_000, seed=seed))
        closed = sim.state.block[0][sim.state.block[0]["written"] == 32]
        shares.append((closed["invalid"] == 0).mean())
    assert np.mean(shares) > 0.1
    assert np.mean(measured) == pytest.approx((1 - np.mean(shares)) / (1 - utilisation), rel=0.01)


@pytest.mark.parametrize("utilisation", [0.7, 0.8, 0.9])
def test_greedy__large_blocks__just_under_fifo(utilisation: float) -> None:
    """With 256 pages a block, greedy is at most 2 % below the formula of FIFO (Desnoyers, SYSTOR 2012)."""
    measured = steady("greedy", blocks=1000, pages_per_block=256, utilisation=utilisation, writes=1_500_000)
    assert 0.98 * fifo_formula(utilisation) < measured < fifo_formula(utilisation)


def test_d_choices__more_choices__tends_to_greedy() -> None:
    def measure(policy: str) -> float:
        return steady(policy, blocks=512, pages_per_block=64, utilisation=0.85, writes=400_000)

    falling = [measure(f"d_choices(d={d})") for d in (1, 2, 4, 8, 32)]
    assert all(more < fewer for fewer, more in itertools.pairwise(falling))
    greedy = measure("greedy")
    assert greedy < measure("d_choices(d=100)") < 1.005 * greedy


@pytest.mark.parametrize(("policy", "expected"), [("greedy", 3.479), ("fifo", 3.521)])
def test_4104_blocks_of_256_pages__as_an_independent_simulator(policy: str, expected: float) -> None:
    """3,482 blocks of logical space, 8 blocks kept free, 10 M uniform writes after two overwrites."""
    sim = uniform_writes(policy, blocks=4104, pages_per_block=256, logical_pages=3482 * 256, free_blocks=8)
    overwrite(sim, 2 * sim.logical_pages, seed=1000)
    assert overwrite(sim, 10_000_000, seed=0) == pytest.approx(expected, rel=0.01)
    assert sim.metrics()["lost_pages"] == 0
