"""What every environment promises, in all the settings of `cases`."""

from __future__ import annotations

import json
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO

from ssdgym.envs import vectorized
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
from ssdgym.simulator.build import copy_device
from tests.config.test_subpage import PLAIN
from tests.engine.devices import differences
from tests.envs.cases import ENVIRONMENTS, KINDS, any_valid, each_case, each_environment, options
from tests.envs.checking import ValidActions, assert_gymnasium_is_content, assert_sb3_only_warns_of_the_shape
from tests.envs.vector.compare import row


def for_checkers(name: str) -> Any:
    """The environment that takes actions as the checkers draw them, without regard to masks."""
    return type("ForCheckers", (ValidActions, ENVIRONMENTS[name]), {})


@each_environment
def test_checkers__of_gymnasium_and_stable_baselines3(name: str) -> None:
    """In one kind of setting; `test_episode` looks at spaces and values in all of them."""
    env = for_checkers(name)(**options(name))
    assert_gymnasium_is_content(env)
    assert_sb3_only_warns_of_the_shape(env)


@each_environment
def test_gymnasium_check__as_made_by_default__no_warning(name: str) -> None:
    assert type(gym.make(f"ssdgym/{name}-v0").unwrapped) is ENVIRONMENTS[name]
    assert_gymnasium_is_content(for_checkers(name)())
    drawn = for_checkers(name)(render_mode="rgb_array")
    drawn.reset(seed=0)
    assert drawn.render().shape[-1] == 3


@each_environment
def test_make_vec__is_the_native_class(name: str) -> None:
    env = gym.make_vec(f"ssdgym/{name}-v0", num_envs=2, **options(name))
    assert type(env.unwrapped).__name__ == f"{name}VectorEnv"
    assert env.unwrapped.env_type is ENVIRONMENTS[name]
    _, info = env.reset(seed=1)
    env.step(np.maximum(info["proposed"].max(axis=1), 0))


def test_sync_vector_of_gymnasium__holds_the_largest_seed() -> None:
    env = gym.make_vec("ssdgym/EraseVictim-v0", 2, vectorization_mode="sync", horizon=100)
    _, info = env.reset(seed=[3, 2**64 - 1])
    assert info["episode_seed"].tolist() == [3, 2**64 - 1]


@each_environment
def test_horizon__before_any_decision__what_is_masked_is_zero(name: str) -> None:
    env = ENVIRONMENTS[name](**options(name, preconditioning="none", horizon=4, warmup=0))
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert not observation["candidates"][observation["action_mask"] == 0].any()


#: Horizons that are longer than elsewhere, so that all that collects has its turn.
HORIZONS = {"SubpageRegion": 1500, "MergePlan": 2500}
#: What is true at the end of an episode besides: of the metrics, the return and the number of decisions.
ALSO: dict[str, Any] = {
    "Placement": lambda m, total, decisions: total == pytest.approx(-m["relocated_pages"] / 4),
    "BackgroundGC": lambda m, total, decisions: decisions > 50,
    "SubpageRegion": lambda m, total, decisions: (
        m["uncorrectable_reads"] == 0 < m["region_collections"] and decisions > 100
    ),
    "MergePlan": lambda m, total, decisions: (
        m["spoiled_pages"] == 0 < m["full_jobs"] and decisions == m["gc_invocations"] > 10
    ),
}


@each_case
def test_episode__to_the_horizon__inside_its_space_and_nothing_lost(name: str, kind: str) -> None:
    arguments = options(name, kind)
    arguments["horizon"] = HORIZONS.get(name, arguments["horizon"])
    env, rng = ENVIRONMENTS[name](**arguments), np.random.default_rng(0)
    observation, info = env.reset(seed=3)
    assert json.loads(json.dumps(info)) == info
    total, decisions, over = 0.0, 0, False
    while not over:
        mask = observation["action_mask"]
        assert env.observation_space.contains(observation) and mask.any()
        assert np.array_equal(env.action_masks(), mask == 1)
        assert not observation["candidates"][mask == 0].any()
        assert not observation["candidates"][mask == 0].any()
        observation, reward, terminated, over, info = env.step(any_valid(mask, rng))
        assert isinstance(reward, float) and np.isfinite(reward) and not terminated
        total, decisions = total + reward, decisions + 1
        json.dumps(info)
    assert env.observation_space.contains(observation) and observation["action_mask"].any()
    metrics = info["metrics"]
    # what a request writes of one group of sectors comes in one piece
    beyond = metrics["host_pages_written"] - arguments["horizon"]
    assert 0 <= beyond < (4 if name == "SubpageRegion" else 1)
    assert metrics["host_pages_written"] == info["host_pages_written"]
    assert metrics["lost_pages"] == 0
    assert ALSO.get(name, lambda *_: True)(metrics, total, decisions)


@each_environment
def test_step__outside_the_mask__refused_with_everything_as_it_was(name: str) -> None:
    env, rng = ENVIRONMENTS[name](**options(name)), np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    for _ in range(30):
        if not observation["action_mask"].all():
            break
        observation, *_ = env.step(any_valid(observation["action_mask"], rng))
    allowed = np.flatnonzero(observation["action_mask"]).tolist()
    masked = [] if len(allowed) == env.action_space.n else [int(np.argmin(observation["action_mask"]))]
    before, view_before = copy_device(env.episodes.state, 0), [array.copy() for array in env.episodes.view]
    for wrong in (-1, *masked, int(env.action_space.n), 10**12):
        with pytest.raises(SsdgymError) as caught:
            env.step(wrong)
        assert str(caught.value) == (
            f"action {wrong} of environment 0 is outside the action mask; choose one of {allowed}, use an "
            "algorithm with masks (MaskablePPO), or set invalid to replace."
        )
    assert differences(env.episodes.state, 0, before, 0) == []
    env.episodes.observe_again()
    for was, now in zip(view_before, env.episodes.view, strict=True):
        np.testing.assert_array_equal(was, now)


@each_case
def test_observe__as_often_as_one_likes__changes_nothing(name: str, kind: str) -> None:
    env, rng = ENVIRONMENTS[name](**options(name, kind, horizon=5000)), np.random.default_rng(3)
    env.reset(seed=3)
    for _ in range(15):
        before, view_before = copy_device(env.episodes.state, 0), [a.copy() for a in env.episodes.view]
        for _ in range(10):
            env.episodes.observe_again()
        assert differences(env.episodes.state, 0, before, 0) == []
        for was, now in zip(view_before, env.episodes.view, strict=True):
            np.testing.assert_array_equal(was, now)
        env.step(any_valid(env.action_masks(), rng))


ALONE = [(name, kind) for name in KINDS for kind in KINDS[name] if kind != "two devices"]


@pytest.mark.parametrize(("name", "kind"), ALONE)
def test_vector__every_environment_is_the_single_one__infos_included(name: str, kind: str) -> None:
    arguments = options(name, kind, warmup=0)
    vector = vectorized(ENVIRONMENTS[name])(3, autoreset_mode="SameStep", **arguments)
    single = ENVIRONMENTS[name](**arguments)
    seen, infos = vector.reset(seed=[16, 11, 20])
    alone, info = single.reset(seed=11)
    rng, over, steps = np.random.default_rng(0), False, 0
    while not over:
        for key, array in alone.items():
            np.testing.assert_array_equal(seen[key][1], array)
        mine = row(infos, 1)
        for key in ("host_pages_written", "relocated_pages", "proposed"):
            np.testing.assert_array_equal(mine[key], info[key])
        steps += 1
        if steps == 50:
            assert differences(vector.episodes.state, 1, single.episodes.state, 0) == []
        drawn = np.where(seen["action_mask"], rng.random(seen["action_mask"].shape), -1)
        actions = drawn.argmax(axis=1)
        seen, rewards, _, ends, infos = vector.step(actions)
        alone, reward, _, over, info = single.step(int(actions[1]))
        assert (rewards[1], ends[1]) == (reward, over)
    last = row(infos, 1)["final_info"]
    assert last["metrics"].keys() == info["metrics"].keys()
    assert last["metrics"]["host_pages_written"] == info["metrics"]["host_pages_written"]
    assert last["metrics"]["write_amplification"] == info["metrics"]["write_amplification"]


@each_environment
def test_vector__pickled_in_the_middle__goes_on_as_it_would(name: str) -> None:
    kind = "two devices" if "two devices" in KINDS[name] else ""
    rng = np.random.default_rng(1)
    # by its id: what is pickled is looked up by the name of its class
    env = gym.make_vec(f"ssdgym/{name}-v0", num_envs=2, **options(name, kind, horizon=5000)).unwrapped
    observation, _ = env.reset(seed=1)

    def valid(seen: dict[str, np.ndarray]) -> np.ndarray:
        return np.array([any_valid(mask, rng) for mask in seen["action_mask"]])

    for _ in range(20):
        observation, *_ = env.step(valid(observation))
    other = pickle.loads(pickle.dumps(env))
    for _ in range(30):
        actions = valid(observation)
        observation, theirs = env.step(actions)[0], other.step(actions)[0]
        for key, array in observation.items():
            np.testing.assert_array_equal(array, theirs[key])


@each_environment
def test_maskable_ppo__learns_a_little_on_a_vector(name: str) -> None:
    env = SB3VecEnv(vectorized(ENVIRONMENTS[name])(2, **options(name, horizon=40)))
    model = MaskablePPO("MultiInputPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=0)
    model.learn(32)
    masks = np.stack(env.env_method("action_masks"))
    assert masks.shape == (2, env.action_space.n)
    action, _ = model.predict(env.reset(), action_masks=np.stack(env.env_method("action_masks")))
    assert np.take_along_axis(env.vector_env.action_masks(), action[:, None], 1).all()


@each_environment
@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [(PPO, {"n_steps": 16, "batch_size": 16, "n_epochs": 1}), (DQN, {"learning_starts": 8, "batch_size": 8})],
)
def test_algorithms_without_masks__learn_a_little_where_invalid_actions_are_replaced(
    name: str, algorithm: Any, settings: dict[str, int]
) -> None:
    env = ENVIRONMENTS[name](**options(name, horizon=40), invalid="replace")
    model = algorithm("MultiInputPolicy", env, seed=0, **settings).learn(32)
    assert model.num_timesteps == 32


@pytest.mark.parametrize("name", [*ENVIRONMENTS][:5])
@pytest.mark.parametrize("many", [False, True], ids=["single", "vector"])
def test_device_of_the_sub_page_family__without_the_decision__refused(name: str, many: bool) -> None:
    make: Any = gym.make_vec if many else gym.make
    with pytest.raises(SsdgymError, match="of ftl.mapping subpage never waits for the decision"):
        make(f"ssdgym/{name}-v0", device=PLAIN)
