"""The adapter gives Stable-Baselines3 what its own VecEnvs give, in one call per step."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from ssdgym.agents.playing.files import SB3Source
from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError

LENGTHS = (2, 3)
"""Episode lengths of the environments 0 and 1; the first is cut off, the second one ends by itself."""


class CountingVectorEnv(VectorEnv):
    """Observes its step number (plus 100 times its index) and is rewarded with it; buffers are reused."""

    def __init__(self, final_obs: str = "dict", autoreset_mode: Any = AutoresetMode.SAME_STEP) -> None:
        self.metadata = {"autoreset_mode": autoreset_mode}
        self.num_envs = 2
        self.final_obs = final_obs
        self.single_observation_space = gym.spaces.Dict(x=gym.spaces.Box(-1e6, 1e6, (1,), np.float32))
        self.single_action_space = gym.spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, 2)
        self.action_space = batch_space(self.single_action_space, 2)
        self.colour = "blue"
        self.reset_arguments: list[Any] = []
        self._x = np.zeros((2, 1), dtype=np.float32)
        self._rewards = np.zeros(2)

    def action_masks(self) -> np.ndarray:
        return np.array([[True, False], [True, True]])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.reset_arguments.append((seed, options))
        self._steps = np.zeros(2, dtype=int)
        return self._observe(), {"fresh": np.ones(2)}

    def step(self, actions: np.ndarray) -> Any:
        self._steps += 1
        self._rewards[:] = self._steps
        done = self._steps == LENGTHS
        infos: dict[str, Any] = {"step": self._steps.copy()}
        if done.any():
            final = {"x": self._observe()["x"].copy()}
            infos["final_obs"] = final if self.final_obs == "dict" else self._as_objects(final, done)
            infos["_final_obs"] = infos["_final_info"] = done
            infos["final_info"] = {
                "wa": 10.0 * self._steps,
                "_wa": done,
                "other": np.ones(2),
                "_other": ~done,
            }
        self._steps[done] = 0
        truncated, terminated = done & [True, False], done & [False, True]
        return self._observe(), self._rewards, terminated, truncated, infos

    def _observe(self) -> dict[str, np.ndarray]:
        self._x[:, 0] = self._steps + [0, 100]
        return {"x": self._x}

    @staticmethod
    def _as_objects(final: dict[str, np.ndarray], done: np.ndarray) -> np.ndarray:
        rows = np.full(2, None, dtype=object)
        for i in np.flatnonzero(done):
            rows[i] = {"x": final["x"][i]}
        return rows


@pytest.fixture(params=["dict", "objects"])
def env(request: pytest.FixtureRequest) -> SB3VecEnv:
    return SB3VecEnv(CountingVectorEnv(final_obs=request.param))


ACTIONS = np.zeros(2, dtype=np.int64)


def test_step__end_of_episode__terminal_observation_flags_and_statistics(env: SB3VecEnv) -> None:
    env.reset()
    _, _, dones, infos = env.step(ACTIONS)
    assert not dones.any()
    assert infos == [{}, {}]

    observation, rewards, dones, infos = env.step(ACTIONS)

    assert dones.tolist() == [True, False]
    assert rewards.tolist() == [2.0, 2.0]
    assert observation["x"].tolist() == [[0.0], [102.0]]
    assert infos[0]["terminal_observation"]["x"].tolist() == [2.0]
    assert infos[0]["TimeLimit.truncated"] is True
    assert (infos[0]["episode"]["r"], infos[0]["episode"]["l"]) == (3.0, 2)
    assert infos[0]["episode"]["t"] >= 0
    assert infos[0]["wa"] == 20.0
    assert "other" not in infos[0]  # masked out for environment 0
    assert infos[1] == {}
    assert env.last_infos["step"].tolist() == [2, 2]


def test_step__terminated__is_no_time_limit(env: SB3VecEnv) -> None:
    env.reset()
    infos = [env.step(ACTIONS)[3] for _ in range(3)][-1]
    assert infos[1]["TimeLimit.truncated"] is False
    assert infos[1]["terminal_observation"]["x"].tolist() == [103.0]


def test_step__episode_statistics__begin_anew_after_every_episode(env: SB3VecEnv) -> None:
    env.reset()
    episodes = [[], []]
    for _ in range(6):
        for i, info in enumerate(env.step(ACTIONS)[3]):
            episodes[i] += [(info["episode"]["r"], info["episode"]["l"])] if info else []
    assert episodes == [[(3.0, 2)] * 3, [(6.0, 3)] * 2]


def test_reset__in_mid_episode__forgets_its_statistics(env: SB3VecEnv) -> None:
    env.reset()
    env.step(ACTIONS)
    env.reset()
    env.step(ACTIONS)
    assert env.step(ACTIONS)[3][0]["episode"]["l"] == 2


def test_step__results__are_copies(env: SB3VecEnv) -> None:
    first = env.reset()
    second, rewards, *_ = env.step(ACTIONS)
    _, _, _, infos = env.step(ACTIONS)
    env.step(ACTIONS)
    assert first["x"].tolist() == [[0.0], [100.0]]
    assert second["x"].tolist() == [[1.0], [101.0]]
    assert rewards.tolist() == [1.0, 1.0]
    assert rewards.dtype == np.float32
    assert infos[0]["terminal_observation"]["x"].tolist() == [2.0]


def test_reward_offset__added_to_rewards_only(env: SB3VecEnv) -> None:
    env.reset()
    env.reward_offset = -0.5
    assert env.step(ACTIONS)[1].tolist() == [0.5, 0.5]
    _, rewards, _, infos = env.step(ACTIONS)
    assert rewards.tolist() == [1.5, 1.5]
    assert infos[0]["episode"]["r"] == 3.0


def test_action_masks__whole_batch_in_one_call(env: SB3VecEnv) -> None:
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), [[True, False], [True, True]])
    assert env.env_method("action_masks", indices=1)[0].tolist() == [True, True]


def test_env_method__not_one_value_per_environment__refused(env: SB3VecEnv) -> None:
    with pytest.raises(SsdgymError, match=r"env_method\('close'\): expected one value for each of the 2"):
        env.env_method("close")


def test_attributes__shared_by_all_environments(env: SB3VecEnv) -> None:
    assert env.get_attr("colour") == ["blue", "blue"]
    assert env.get_attr("colour", indices=0) == ["blue"]
    env.set_attr("colour", "red")
    assert env.get_attr("colour") == ["red", "red"]
    assert env.has_attr("colour")
    assert not env.has_attr("taste")
    with pytest.raises(AttributeError, match="taste"):
        env.get_attr("taste")
    with pytest.raises(SsdgymError, match="environments share it"):
        env.set_attr("colour", "green", indices=[1])


def test_seed_and_options__used_at_the_next_reset_only(env: SB3VecEnv) -> None:
    assert env.seed(7) == [7, 8]
    env.set_options({"aged": True})
    env.reset()
    env.reset()
    assert env.vector_env.reset_arguments == [(7, {"aged": True}), (None, None)]


def test_options__different_for_some__refused(env: SB3VecEnv) -> None:
    env.set_options([{"aged": True}, {}])
    with pytest.raises(SsdgymError, match="set_options"):
        env.reset()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED, None])
def test_adapter__any_other_autoreset__refused(mode: AutoresetMode | None) -> None:
    with pytest.raises(SsdgymError, match="needs AutoresetMode.SAME_STEP"):
        SB3VecEnv(CountingVectorEnv(autoreset_mode=mode))


def test_adapter__native_environment__is_made_to_reset_in_the_same_step() -> None:
    env = EraseVictimVectorEnv(2, device="tiny", horizon=64)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP  # as Gymnasium's own
    SB3VecEnv(env)
    assert env.metadata["autoreset_mode"] is env.autoreset_mode is AutoresetMode.SAME_STEP


def test_env_is_wrapped__monitor__whose_statistics_it_has(env: SB3VecEnv) -> None:
    assert env.env_is_wrapped(Monitor) == [True, True]
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, indices=[0]) == [False]


def test_get_images__those_that_the_vector_environment_renders() -> None:
    native = EraseVictimVectorEnv(2, device="tiny", render_mode="rgb_array")
    adapted = SB3VecEnv(native)
    adapted.reset()
    pictures = adapted.get_images()
    assert len(pictures) == 2 and pictures[0].dtype == np.uint8
    assert adapted.render(mode="rgb_array").shape[2] == 3


def test_step__end_of_a_native_episode__its_info_as_of_the_single_environment() -> None:
    arguments = {"device": "tiny", "horizon": 64}
    adapted, alone = SB3VecEnv(EraseVictimVectorEnv(2, **arguments)), EraseVictimEnv(**arguments)
    adapted.seed(3)
    observation, (own, _) = adapted.reset(), alone.reset(seed=3)
    dones = np.zeros(2, bool)
    while not dones[0]:
        observation, _, dones, infos = adapted.step(observation["action_mask"].argmax(1))
        own, _, _, _, info = alone.step(own["action_mask"].argmax())
    np.testing.assert_array_equal(infos[0]["terminal_observation"]["candidates"], own["candidates"])
    assert infos[0]["metrics"] == info["metrics"]
    assert type(infos[0]["metrics"]["erases"]) is int


def test_close__closes_the_vector_environment(env: SB3VecEnv) -> None:
    env.close()
    assert env.vector_env.closed


def test_evaluate_policy__without_a_warning__exact_returns(env: SB3VecEnv, recwarn) -> None:
    class Zeros:
        def predict(self, observation: Any, **_: Any) -> Any:
            return ACTIONS, None

    returns, lengths = evaluate_policy(Zeros(), env, n_eval_episodes=4, return_episode_rewards=True)
    assert sorted(zip(returns, lengths, strict=True)) == [(3.0, 2), (3.0, 2), (6.0, 3), (6.0, 3)]
    assert not recwarn.list


def test_adapter__cartpole__steps_as_the_dummy_vec_env_does() -> None:
    """Against Stable-Baselines3's own VecEnv, on Gymnasium's CartPole, over many episodes."""
    makers = [lambda: gym.make("CartPole-v1", max_episode_steps=15) for _ in range(3)]
    ours = SB3VecEnv(SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP))
    theirs = DummyVecEnv([lambda maker=maker: Monitor(maker()) for maker in makers])
    for env in (ours, theirs):
        env.seed(3)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    random = np.random.default_rng(0)
    truncations = []
    for _ in range(100):
        actions = random.integers(2, size=3)
        ours_step, theirs_step = ours.step(actions), theirs.step(actions)
        for a, b in zip(ours_step[:3], theirs_step[:3], strict=True):
            np.testing.assert_array_equal(a, b)
        for done, a, b in zip(ours_step[2], ours_step[3], theirs_step[3], strict=True):
            if done:
                np.testing.assert_array_equal(a["terminal_observation"], b["terminal_observation"])
                assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]
                assert a["episode"]["r"] == b["episode"]["r"]
                assert a["episode"]["l"] == b["episode"]["l"]
                truncations.append(a["TimeLimit.truncated"])
    assert set(truncations) == {True, False}


@pytest.mark.parametrize("name", ["EraseVictim-v0", "SubFTL-v0", "JointGC-v0"])
def test_zip__names_the_environment_of_its_training__read_without_executing_it(
    name: str, tmp_path: Path
) -> None:
    env = gym.make(f"ssdgym/{name}", horizon=64, invalid="replace")
    DQN("MultiInputPolicy", env, seed=0).save(tmp_path / "agent.zip")
    config = SB3Source(str(tmp_path / "agent.zip")).own_environment()
    assert config is not None and config.kwargs["invalid"] == "replace"
    again = gym.make(config.id, **{"device": env.unwrapped.episodes.devices[0], **config.kwargs})
    assert again.observation_space == env.observation_space and again.action_space == env.action_space
