"""The baseline that knows nothing: any of the valid actions."""

from __future__ import annotations

import numpy as np

from ssdgym.types import Observation


class RandomAction:
    """Draw every action uniformly from the valid ones.

    Candidates are proposals already, so this is not the policy `random`, which draws among all blocks: what
    an agent has learned shows only against this one.
    """

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment.

        Args:
            observation: not looked at.
            mask: bool (n, K), the valid actions.
            rng: draws the actions.

        Returns:
            int64 (n,).
        """
        # the valid action with the largest key is uniform among the valid ones; no valid key is below 0
        return np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1)
