"""Deep Q-learning (Mnih et al., Nature 2015) that never explores an invalid action."""

from __future__ import annotations

import numpy as np
from stable_baselines3 import DQN
from stable_baselines3.common.noise import ActionNoise

from ssdgym.types import Observation


class MaskedDQN(DQN):
    """`stable_baselines3.DQN` for observations with an `action_mask`.

    Random actions, in the warm-up and in epsilon-greedy exploration, are drawn uniformly from the valid ones;
    each environment of a batch throws its own coin, where Stable-Baselines3 throws one for all. The Q network
    masks what is greedy and what is bootstrapped (`ScorerDQNPolicy`). The arguments are those of
    `stable_baselines3.DQN`.
    """

    def predict(
        self,
        observation: Observation,  # type: ignore[override]
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Choose epsilon-greedy actions.

        Args:
            observation: one, or a batch of n.
            state: not used.
            episode_start: not used.
            deterministic: choose greedily.

        Returns:
            Actions, (n,) for a batch, () for one observation, and the state.
        """
        actions, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if deterministic:
            return actions, state
        explore = np.random.random(np.shape(actions)) < self.exploration_rate  # noqa: NPY002 (SB3 seeds this one)
        return np.where(explore, random_valid_actions(observation["action_mask"]), actions), state

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.num_timesteps >= learning_starts:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        assert isinstance(self._last_obs, dict)
        actions = random_valid_actions(self._last_obs["action_mask"])
        return actions, actions


def random_valid_actions(mask: np.ndarray) -> np.ndarray:
    """Draw one valid action, uniformly, for every row of the mask, from numpy's global generator.

    Stable-Baselines3 draws from that generator, too, and seeds it (`set_random_seed`).

    Args:
        mask: (..., K), nonzero where valid; every row has a valid action.

    Returns:
        int64 array of shape (...).
    """
    keys = np.random.random(mask.shape)  # noqa: NPY002 (SB3 seeds this one)
    # the valid action with the largest key is uniform among the valid ones; no valid key is below 0
    return np.where(mask, keys, -1.0).argmax(axis=-1)
