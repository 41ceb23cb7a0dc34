"""`ssdgym/BackgroundGC-v0`: what Gymnasium expects, what its docs promise, and rules played through it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.envs import BackgroundGCEnv, BackgroundGCVectorEnv
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences
from tests.envs.checking import assert_gymnasium_is_content, assert_sb3_only_warns_of_the_shape

ENV_ID = "ssdgym/BackgroundGC-v0"
BURSTS = {"kind": "zipf", "interarrival_ns": 4000, "arrivals": "bursts", "burst_requests": 10}


def idle_device(preemptible: bool = True, idle: str | None = None, **ftl: Any) -> DeviceConfig:
    gc = {"free_blocks": 2, "preemptible": preemptible, **({} if idle is None else {"idle": idle})}
    return device({"planes_per_die": 2}, {"timing": "event", "gc": gc, **ftl})


#: What a device notes of the questions it is asked outside; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject"}
KINDS: dict[str, dict[str, Any]] = {
    "as a rule": {"device": idle_device()},
    "atomic": {"device": idle_device(preemptible=False)},
    "late": {"device": idle_device(allocation="late"), "victims": "cost_benefit"},
    "all features": {"device": idle_device(), "features": "all"},
}


def options(kind: str = "as a rule", **changes: Any) -> dict[str, Any]:
    return {"workload": BURSTS, "horizon": 200, **KINDS[kind], **changes}


@pytest.mark.parametrize("kind", KINDS)
def test_checkers__of_gymnasium_and_stable_baselines3(kind: str) -> None:
    assert_gymnasium_is_content(BackgroundGCEnv(**options(kind)))
    assert_sb3_only_warns_of_the_shape(BackgroundGCEnv(**options(kind)))


def test_gymnasium_check__as_made_by_default__no_warning() -> None:
    assert_gymnasium_is_content(gym.make(ENV_ID))


@pytest.mark.parametrize("kind", KINDS)
def test_episode__to_the_horizon__inside_its_space_and_nothing_lost(kind: str) -> None:
    env = BackgroundGCEnv(**options(kind))
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=3)
    decisions, over = 0, False
    while not over:
        assert env.observation_space.contains(observation)
        assert observation["action_mask"].all()
        observation, _, terminated, over, info = env.step(int(rng.integers(env.action_space.n)))
        decisions += 1
        assert not terminated
    assert env.observation_space.contains(observation)
    assert info["metrics"]["host_pages_written"] == 200
    assert info["metrics"]["lost_pages"] == 0
    assert decisions > 50


@pytest.mark.parametrize("preemptible", [False, True])
@pytest.mark.parametrize("idle", ["blocking", "threshold(blocks=6)"])
def test_idle_rule__played_by_its_proposals__leaves_the_device_that_it_leaves(
    idle: str, preemptible: bool
) -> None:
    env = BackgroundGCEnv(
        device=idle_device(preemptible, idle), workload=BURSTS, horizon=700, warmup=100, reward="plain"
    )
    _, info = env.reset(seed=11)
    over = False
    while not over:
        _, _, _, over, info = env.step(int(info["proposed"][0]))
    sim = Simulator(env.episodes.devices[0], policy="greedy", seed=11)
    sim.precondition(BURSTS)
    sim.run(BURSTS, host_pages=700, warmup=100, seed=11)
    assert sim.metrics()["relocated_pages"] > 50
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


def test_vector__does_what_single_environments_do() -> None:
    vector = BackgroundGCVectorEnv(3, **options())
    singles = [BackgroundGCEnv(**options()) for _ in range(3)]
    observations, _ = vector.reset(seed=7)
    for i, env in enumerate(singles):
        env.reset(seed=7 + i)
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = rng.integers(0, 8, 3)
        observations, rewards, *_ = vector.step(actions)
        for i, env in enumerate(singles):
            single, reward, _, over, _ = env.step(int(actions[i]))
            assert not over
            assert reward == rewards[i]
            for name, values in single.items():
                assert np.array_equal(values, observations[name][i]), name


def test_stable_baselines3__steps_a_vector() -> None:
    env = SB3VecEnv(BackgroundGCVectorEnv(2, **options(horizon=40)))
    env.reset()
    done = np.zeros(2, bool)
    while not done.any():
        assert np.array(env.env_method("action_masks")).shape == (2, 8)
        _, _, done, infos = env.step(np.array([1, 7]))
    assert infos[int(np.argmax(done))]["episode"]["l"] > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ftl": {"timing": "none"}}, "has no idle time; set ftl.timing to event"),
        ({"device": idle_device(idle="oracle_gap")}, "oracle_gap knows the future"),
        ({"victims": "greedy+single"}, "give a compiled victim rule alone"),
        ({"victims": "greedy+threshold"}, "give a compiled victim rule alone"),
        ({"features": ["log_benefit"]}, "features name log_benefit, a feature of a candidate"),
        ({"features": ["idle_room"]}, "give at least one, such as 'answer_number'"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        BackgroundGCEnv(**options(**changes))


def test_background_share__proposed_as_a_threshold() -> None:
    model = device({}, {"timing": "event", "gc": {"free_blocks": 2, "background_fraction": 0.2}})
    env = BackgroundGCEnv(device=model, workload=BURSTS, horizon=100)
    env.reset(seed=0)
    assert env.episodes.devices[0].ftl.gc.idle == "threshold(blocks=4, share=0.2)"


def test_future__is_not_told() -> None:
    env = BackgroundGCEnv(**options())
    env.reset(seed=0)
    for _ in range(20):
        env.step(1)
    assert env.episodes.state.control["next_arrival_ns"][0, 0] == 0
