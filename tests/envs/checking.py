"""What the checkers of Gymnasium and Stable-Baselines3 say of environments."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_for_sb3


class ValidActions:
    """Makes an environment take the next valid action for one outside the mask, which checkers ignore."""

    def step(self: Any, action: Any) -> Any:
        valid = np.flatnonzero(self.action_masks())
        return super().step(valid[np.searchsorted(valid, action) % len(valid)])  # type: ignore[misc]


def assert_gymnasium_is_content(env: gym.Env, render: bool = False) -> None:
    """Check that its checker does not even warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=not render)


def assert_sb3_only_warns_of_the_shape(env: gym.Env) -> None:
    """Check that its checker says nothing but that candidates are no flat array."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env_for_sb3(env, skip_render_check=True)
    (message,) = {str(warning.message) for warning in caught}
    assert "observation candidates has an unconventional shape" in message
