"""The reward term `remaining_life`: it sums to the life that was lost, in every environment that wears."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.envs import (
    DecisionEnv,
    EraseVictimEnv,
    EraseVictimVectorEnv,
    PlacementEnv,
    WearLevelEnv,
)
from ssdgym.errors import SsdgymError
from ssdgym.simulator.cells import remaining_life
from tests.engine.devices import device
from tests.envs.cases import first_valid, play

ERASES, BLOCKS = 8, 32
LIFE = {"remaining_life": 1.0}
ENVIRONMENTS = pytest.mark.parametrize("make", [EraseVictimEnv, PlacementEnv, WearLevelEnv])


def arguments(spread: float = 0.0, erases: int = ERASES, **more: Any) -> dict[str, Any]:
    cells = {"endurance": {"mean": erases, "spread": spread}}
    shape = {"channels": 1, "blocks_per_plane": BLOCKS}
    config = device(shape, {"timing": "none"}, cells=cells, over_provisioning=1.5)
    given = {"device": config, "workload": "uniform", "horizon": 100_000, "objective": LIFE}
    return {**given, "preconditioning": "fill", "reward": "plain", **more}


def left(env: DecisionEnv) -> int:
    return remaining_life(env.episodes.state, 0, env.episodes.devices[0])


@ENVIRONMENTS
def test_whole_life__the_return_is_all_erases_that_level_wear_does(make: type[DecisionEnv]) -> None:
    env = make(**arguments())
    played = play(env, 1, first_valid(env))
    assert played.metrics["end_of_life"] and left(env) == 0
    assert played.total == -ERASES * BLOCKS


@ENVIRONMENTS
@pytest.mark.parametrize("warmup", [0, 60])
def test_part_of_a_life__the_return_is_what_it_has_become_shorter(
    make: type[DecisionEnv], warmup: int
) -> None:
    env = make(**arguments(0.3, horizon=250, warmup=warmup))
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    before = None if warmup else left(env)
    lost, over = 0.0, False
    while not over:
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        _, reward, ended, truncated, info = env.step(action)
        over = ended or truncated
        if before is None and reward:
            before = left(env) - reward
        lost += reward
    assert before is not None and lost == left(env) - before < 0
    assert info["metrics"]["erased_sub_blocks"] > 0


def test_uneven_wear__costs_life_that_its_erases_do_not() -> None:
    """Where nothing is ever moved, a few blocks wear out, and the device with them."""
    hot = {"kind": "hot_cold", "hot_fraction": 0.1, "hot_access": 0.99}
    lost = {}
    for moves in (False, True):
        options = arguments(erases=100, horizon=3000, workload=hot, levelling="dual_pool(threshold=2)")
        played = play(WearLevelEnv(**options), 1, lambda info, k=moves: int(k) * int(info["proposed"][0]))
        lost[moves] = -played.total / played.metrics["erased_sub_blocks"]
    assert lost[True] < 1.2 < 1.5 < lost[False]


def test_vector__as_the_single_environment() -> None:
    options = arguments(0.3, horizon=400)
    vector, single = EraseVictimVectorEnv(2, **options), EraseVictimEnv(**options)
    vector.reset(seed=[5, 5])
    single.reset(seed=5)
    for _ in range(30):
        action = int(np.flatnonzero(single.action_masks())[0])
        _, rewards, *_ = vector.step(np.array([action, action]))
        _, reward, ended, truncated, _ = single.step(action)
        assert rewards.tolist() == [reward, reward]
        if ended or truncated:
            break


def test_cells_that_do_not_wear_out__are_refused() -> None:
    with pytest.raises(SsdgymError) as caught:
        EraseVictimEnv(device=device(), objective=LIFE)
    assert str(caught.value) == (
        "objective.remaining_life needs devices of mapping page with cells that wear out; add cells."
    )
