"""A decision without a device behind it: the best candidate can be read off one feature."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.train import TrainingRun, train
from ssdgym.envs.features import Setting, select

TOY_ID = "ssdgym-test/Toy-v0"
CANDIDATES = 5


class ToyVectorEnv(VectorEnv):
    """The reward is one feature, `payoff`, of the chosen candidate. Invalid choices raise."""

    def __init__(self, num_envs: int, max_episode_steps: int | None = None, horizon: int = 16) -> None:
        names = select("default", Setting(())).features.names()
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "features": names}
        self.num_envs = num_envs
        self.horizon = horizon
        # one that no heuristic looks at
        self.payoff = next(
            i for i, name in enumerate(names["candidates"]) if name not in ("log_benefit", "log_age")
        )
        self.single_observation_space = gym.spaces.Dict(
            candidates=gym.spaces.Box(-1, 1, (CANDIDATES, len(names["candidates"])), np.float32),
            context=gym.spaces.Box(-1, 1, (len(names["context"]),), np.float32),
            action_mask=gym.spaces.Box(0, 1, (CANDIDATES,), np.int8),
        )
        self.single_action_space = gym.spaces.Discrete(CANDIDATES)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.actions_seen = np.zeros(CANDIDATES, dtype=np.int64)
        # reused by every step, as the contract allows
        self._buffers = {
            key: np.zeros(space.shape, space.dtype) for key, space in self.observation_space.items()
        }

    def action_masks(self) -> np.ndarray:
        return self._buffers["action_mask"].astype(bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        if not isinstance(seed, list):
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        self._rngs = [np.random.default_rng(own) for own in seed]
        self._steps = 0
        self._observe()
        return self._buffers, {}

    def step(self, actions: np.ndarray) -> Any:
        rows = np.arange(self.num_envs)
        assert self._buffers["action_mask"][rows, actions].all(), "an invalid action was taken"
        np.add.at(self.actions_seen, actions, 1)
        rewards = self._buffers["candidates"][rows, actions, self.payoff].astype(np.float64)
        self._steps = (self._steps + 1) % self.horizon
        self._observe()
        done = np.full(self.num_envs, self._steps == 0)
        infos: dict[str, Any] = {}
        if self._steps == 0:
            infos["final_obs"] = {key: value.copy() for key, value in self._buffers.items()}
            metrics = np.array([{"last_reward": float(reward), "other": {}} for reward in rewards])
            infos["final_info"] = {"metrics": metrics, "_metrics": done}
            self._observe()
        return self._buffers, rewards, np.zeros_like(done), done, infos

    def _observe(self) -> None:
        for i, random in enumerate(self._rngs):
            for key in ("candidates", "context"):
                self._buffers[key][i] = random.uniform(-1, 1, self._buffers[key][i].shape)
            self._buffers["action_mask"][i] = random.random(CANDIDATES) < 0.5
            self._buffers["action_mask"][i, random.integers(CANDIDATES)] = 1


if TOY_ID not in gym.registry:
    gym.register(TOY_ID, vector_entry_point=ToyVectorEnv)


def train_to_a_checkpoint(config: TrainConfig, folder: Path) -> None:
    """Train, and stop at the first checkpoint after the one at the start."""

    def stop(run: TrainingRun) -> None:
        if run.learner.decisions:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, folder, progress=False, report=stop)
