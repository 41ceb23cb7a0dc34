"""What a training run needs of an algorithm that learns by gradients."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from stable_baselines3.common.logger import Logger

from ssdgym.agents.learning.segments import Segments
from ssdgym.agents.scorer import CandidateScorer


class Learner(Protocol):
    """An algorithm with its network, between two segments of a run."""

    @property
    def decisions(self) -> int:
        """Number of decisions learned from so far, over all environments."""

    @property
    def scorer(self) -> CandidateScorer:
        """The network that chooses."""

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""

    def set_linear_weights(self, weights: np.ndarray) -> None:
        """Set the weights (F,) of the linear part of the score."""

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs, as tensors and numbers."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned for the same configuration."""

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn until the decisions of the run have been taken.

        Every segment begins new episodes and seeds every generator again (`segment_seed`).

        Args:
            segments: told where it starts, asked between updates whether a segment ends, and told every step.
            first_reward: mean reward of a decision of the untrained agent.

        Raises:
            Enough: the run ends at a checkpoint.
        """
