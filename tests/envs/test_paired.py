"""Paired rewards: what a policy earns in the same episode, on the same seed and requests, is taken off."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv, PlacementEnv
from ssdgym.errors import SsdgymError
from tests.engine.devices import device, full_device
from tests.envs.cases import Played, always, play, proposal

WORKLOAD = {"kind": "zipf", "theta": 0.9, "read_fraction": 0.4, "interarrival_ns": 700.0}
PROPOSERS = ("greedy", "fifo")


def options(timing: str = "none", **changes: Any) -> dict[str, Any]:
    return {
        "device": full_device(geometry={"planes_per_die": 2}, ftl={"timing": timing}),
        "workload": WORKLOAD,
        "horizon": 700,
        "candidates": 5,
        "proposers": PROPOSERS,
        "reward": {"paired": "greedy"},
        **changes,
    }


def played(proposer: str, seed: int = 1, **changes: Any) -> Played:
    return play(EraseVictimEnv(**options(**changes)), seed, proposal(PROPOSERS.index(proposer)))


@pytest.mark.parametrize("warmup", [0, 333])
@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("workload", [WORKLOAD, ["uniform", "hot90"]])
def test_baseline_itself__earns_nothing_in_sum(warmup: int, timing: str, workload: Any) -> None:
    for seed in range(3):
        rewards = played("greedy", seed, timing=timing, warmup=warmup, workload=workload).rewards
        assert np.abs(rewards).max() > 0.0  # by the granularity of decisions and points
        assert rewards.sum() == pytest.approx(0.0, abs=1e-9)


def test_baseline_that_draws__draws_by_the_seed_of_the_episode() -> None:
    drawing = {"proposers": ("random",), "reward": {"paired": "random"}}
    env = EraseVictimEnv(**options(**drawing))
    for seed in range(3):
        assert play(env, seed, proposal(0)).total == pytest.approx(0.0, abs=1e-9)


def test_decisions_that_lie_far_apart__the_twin_comes_along() -> None:
    spacious = device({"channels": 1, "pages_per_block": 64}, {"timing": "none"}, logical_pages=400)
    rewards = played("greedy", device=spacious, horizon=4000).rewards
    assert 4000 / len(rewards) > spacious.logical_pages / 32  # host pages between two points of the twin
    assert rewards.sum() == pytest.approx(0.0, abs=1e-9)


def test_better_rule__earns_more__a_worse_one_less() -> None:
    better = {"reward": {"paired": "fifo"}, "horizon": 4000}
    worse = {"reward": {"paired": "greedy"}, "horizon": 4000}
    greedy, fifo = (played(rule, **better) for rule in PROPOSERS)
    assert greedy.metrics["write_amplification"] < fifo.metrics["write_amplification"]
    assert greedy.total > 1.0
    assert played("fifo", **worse).total < -1.0


def test_sum__is_what_was_saved_in_rounds_of_the_baseline() -> None:
    """As rewards against a baseline, less what these are of the baseline itself on the same seed."""
    greedy, fifo = (played(rule, reward={"baseline": "greedy"}).total for rule in PROPOSERS)
    assert played("fifo").total == pytest.approx(fifo - greedy)


def test_warmup__is_not_rewarded() -> None:
    rewards = played("fifo", warmup=500).rewards
    assert (rewards == 0.0).sum() >= 10
    assert rewards[-1] != 0.0


def test_vector__rewards_as_single_environments_do__over_several_episodes() -> None:
    vector = EraseVictimVectorEnv(num_envs=3, **options())
    singles = [EraseVictimEnv(**options()) for _ in range(3)]
    _, infos = vector.reset(seed=5)
    proposed = [env.reset(seed=5 + i)[1]["proposed"] for i, env in enumerate(singles)]
    for _ in range(400):
        _, rewards, _, _, infos = vector.step(np.array([picks[1] for picks in proposed]))
        for i, env in enumerate(singles):
            _, reward, _, over, info = env.step(proposed[i][1])
            assert rewards[i] == reward
            proposed[i] = env.reset()[1]["proposed"] if over else info["proposed"]
        assert infos["proposed"].tolist() == [picks.tolist() for picks in proposed]


def test_workload__that_ends_before_the_horizon__ends_for_the_twin_too() -> None:
    requests = {"kind": "zipf", "theta": 0.9, "requests": 600}
    ended = played("greedy", workload=requests, at_end="truncate", horizon=100_000)
    assert ended.total == pytest.approx(0.0, abs=1e-9)


def test_placement__is_paired_with_a_policy_that_places_otherwise() -> None:
    env = PlacementEnv(
        device="demo-placement", ftl={"timing": "none"}, horizon=3000, reward={"paired": "greedy+sepbit"}
    )
    in_one_stream = always(0)
    assert play(env, 1, in_one_stream).total < 0.0


def test_environment__pickled_in_the_middle__goes_on_as_it_would() -> None:
    env = EraseVictimEnv(**options())
    _, info = env.reset(seed=1)
    for _ in range(30):
        _, _, _, _, info = env.step(info["proposed"][1])
    other = pickle.loads(pickle.dumps(env))
    for _ in range(50):
        _, reward, _, _, again = env.step(info["proposed"][1])
        assert other.step(info["proposed"][1])[1] == reward
        info = again


def test_policy__that_is_not_known__is_named() -> None:
    with pytest.raises(SsdgymError, match="nonsense"):
        EraseVictimEnv(**options(reward={"paired": "nonsense"}))


def test_policy__that_knows_the_future__is_refused() -> None:
    with pytest.raises(SsdgymError, match="oracle_k uses the future, which environments do not tell"):
        EraseVictimEnv(device="suite", ftl={"timing": "none"}, reward={"paired": "greedy+oracle_k"})
