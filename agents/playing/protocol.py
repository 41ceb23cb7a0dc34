"""What an agent is: whatever takes the decisions of a batch of environments."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ssdgym.types import Observation


class Agent(Protocol):
    """An object that chooses actions. Any object with this method is one; nothing has to be inherited."""

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment.

        Args:
            observation: of n environments, arrays by name with n as the first axis: `candidates` (n, K, F),
                `context` (n, G), `action_mask` (n, K).
            mask: bool (n, K), the valid actions, at least one in each row.
            rng: of all that the agent draws; seeded by the seeds of the episodes.

        Returns:
            Whole numbers (n,), each valid.
        """
