"""`ssdgym/JointGC-v0`: victims and places in one episode, exact where policies are played through it."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_for_sb3

from ssdgym.engine.decisions import ERASE, PLACE, RELOCATE
from ssdgym.envs import JointGCEnv, JointGCVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from tests.engine.devices import differences
from tests.envs.test_placement_identity import ASKED, HORIZON, SEED, WARMUP, WORKLOAD, spacious
from tests.envs.vector.compare import row

POLICIES = ("greedy", "cost_benefit(since_close=1)", "d_choices(d=3)")


def arguments(timing: str = "none", placement: str = "sep_gc", **changes: Any) -> dict[str, Any]:
    return {
        "device": spacious(timing, placement),
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "warmup": WARMUP,
        "proposers": POLICIES,
        "candidates": 5,
        "streams": None,
        "reward": "plain",
        **changes,
    }


def choice(info: dict[str, Any], victims: int) -> int:
    """The action of a victim policy, by its place among the proposers, with the device's placement."""
    placed = info["proposed"][len(POLICIES)]
    return int(info["proposed"][victims] if placed < 0 else placed)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["sep_gc", "sepbit", "dac"])
@pytest.mark.parametrize("victims", range(len(POLICIES)))
def test_policies__compiled_and_played__the_same_device(timing: str, placement: str, victims: int) -> None:
    env = JointGCEnv(**arguments(timing, placement, placements=["mida"]))
    _, info = env.reset(seed=SEED)
    over = False
    while not over:
        _, _, _, over, info = env.step(choice(info, victims))
    sim = Simulator(env.episodes.devices[0], policy=POLICIES[victims], seed=SEED)
    sim.precondition(WORKLOAD)
    sim.run(WORKLOAD, host_pages=HORIZON, warmup=WARMUP, seed=SEED)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize("timing", ["none", "event"])
def test_vector__every_environment_is_the_single_one(timing: str) -> None:
    options = arguments(timing, "sepbit", warmup=0)
    vector, single = JointGCVectorEnv(3, **options), JointGCEnv(**options)
    seen, infos = vector.reset(seed=[SEED + 5, SEED, SEED + 9])
    alone, info = single.reset(seed=SEED)
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(700):
        for name, array in alone.items():
            np.testing.assert_array_equal(seen[name][1], array)
        np.testing.assert_array_equal(infos["proposed"][1], info["proposed"])
        assert row(infos, 1)["relocated_pages"] == info["relocated_pages"]
        kinds.add(int(single.episodes.state.control["decision_kind"][0, 0]))
        draw = rng.random(seen["action_mask"].shape)
        actions = np.where(seen["action_mask"] != 0, draw, -1).argmax(1)
        seen, rewards, _, _, infos = vector.step(actions)
        alone, reward, _, over, info = single.step(actions[1])
        assert reward == rewards[1] and not over
    assert kinds == {ERASE, PLACE, RELOCATE}
    assert differences(vector.episodes.state, 1, single.episodes.state, 0) == []


class ForCheckers(JointGCEnv):
    """Takes the next valid action for one outside the mask: the checkers sample without regard to masks."""

    def step(self, action: Any) -> Any:
        valid = np.flatnonzero(self.action_masks())
        return super().step(valid[np.searchsorted(valid, action) % len(valid)])


@pytest.mark.parametrize("timing", ["none", "event"])
def test_checkers__of_gymnasium_and_stable_baselines3(timing: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(ForCheckers(**arguments(timing)), skip_render_check=True)
        check_env_for_sb3(ForCheckers(**arguments(timing)), skip_render_check=True)
    (message,) = {str(warning.message) for warning in caught}
    assert "observation candidates has an unconventional shape" in message


@pytest.mark.parametrize("candidates", [3, 8], ids=["more streams", "more erase sets"])
def test_rows_and_columns__of_the_other_kind__masked_and_zero(candidates: int) -> None:
    env = JointGCEnv(**arguments(candidates=candidates, streams=5, features="all"))
    assert env.action_space.n == max(candidates, 5)
    names = env.metadata["features"]
    of_streams = np.array([name.startswith("stream_") for name in names["candidates"]])
    of_sets = ~of_streams & np.array([not name.startswith("proposed_by") for name in names["candidates"]])
    of_page = np.array([name.startswith(("page_", "request_")) for name in names["context"]])
    flags = [names["context"].index(f"asks_{kind}") for kind in ("erase", "place", "relocate")]
    observation, _ = env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(600):
        kind = int(env.episodes.state.control["decision_kind"][0, 0])
        assert observation["context"][flags].tolist() == [kind == one for one in (ERASE, PLACE, RELOCATE)]
        mask, rows = observation["action_mask"] != 0, observation["candidates"]
        assert not rows[~mask].any()
        if kind == ERASE:
            assert not rows[:, of_streams].any() and not observation["context"][of_page].any()
        else:
            assert mask.tolist() == [k < 5 for k in range(len(mask))]
            assert not rows[:, of_sets].any() and rows[mask][:, of_streams].any()
        assert env.observation_space.contains(observation)
        observation, *_ = env.step(rng.choice(np.flatnonzero(mask)))


def test_masked_row__refused() -> None:
    env = JointGCEnv(**arguments(candidates=8))
    env.reset(seed=1)
    with pytest.raises(SsdgymError, match=r"outside the action mask; choose one of \[0, 1\]"):
        env.step(7)


def test_gym_make__single_and_vector() -> None:
    single = gym.make("ssdgym/JointGC-v0", ftl={"timing": "none"}, horizon=50)
    vector = gym.make_vec("ssdgym/JointGC-v0", num_envs=2, ftl={"timing": "none"}, horizon=50)
    assert single.observation_space["candidates"].shape == (8, 20)
    assert vector.observation_space["candidates"].shape == (2, 8, 20)
