"""Load an agent from a zip file that an algorithm of Stable-Baselines3 saved."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.save_util import load_from_zip_file

from ssdgym.errors import SsdgymError
from ssdgym.types import Observation


class SB3Agent:
    """A policy of Stable-Baselines3 without exploration. It masks actions if its `predict` takes masks."""

    def __init__(self, policy: BasePolicy) -> None:
        policy.set_training_mode(False)
        self.policy = policy
        self._takes_masks = "action_masks" in inspect.signature(policy.predict).parameters

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose the policy's deterministic action in every environment, int64 (n,)."""
        masks: dict[str, Any] = {"action_masks": mask} if self._takes_masks else {}
        actions, _ = self.policy.predict(observation, deterministic=True, **masks)
        return actions


def load_sb3(path: Path, env: VectorEnv) -> SB3Agent:
    """Load the policy of a saved algorithm on the CPU. This executes the pickles in the file.

    Raises:
        SsdgymError: the file cannot be loaded, or its spaces differ from the environment's.
    """
    if not path.is_file():
        raise SsdgymError(f"{path}: there is no such file; correct the path.")
    try:
        policy = _load_policy(path)
    except Exception as error:  # loading executes code of other packages and of the file
        reason = f"{type(error).__name__}: {error}"
        raise SsdgymError(f"{path}: cannot be loaded ({reason:.100}).") from error
    _check_fits(path, "observes", policy.observation_space, env.single_observation_space)
    _check_fits(path, "chooses", policy.action_space, env.single_action_space)
    return SB3Agent(policy)


def _load_policy(path: Path) -> BasePolicy:
    """Load only the policy, which does not require the class of the algorithm."""
    data, weights, _ = load_from_zip_file(path, device="cpu")
    assert data is not None
    policy: BasePolicy = data["policy_class"](
        data["observation_space"],
        data["action_space"],
        lambda _: 0.0,  # a learning rate, which is required and not used
        **data["policy_kwargs"],
    )
    policy.load_state_dict(dict(weights["policy"]))
    return policy


def _check_fits(path: Path, does: str, own: spaces.Space, theirs: spaces.Space) -> None:
    if _shape(own) != _shape(theirs):
        raise SsdgymError(
            f"{path}: {does} {_shape(own)}, and the environment has {_shape(theirs)}; name the environment "
            "it was trained in with --environment and --env-arg, and the FTL with --ftl, such as timing=none."
        )


def _shape(space: spaces.Space) -> Any:
    """Return a space's shape or number of actions. Only these have to match, not bounds."""
    if isinstance(space, spaces.Dict):
        return {name: _shape(part) for name, part in space.items()}
    return int(space.n) if isinstance(space, spaces.Discrete) else space.shape
