"""The candidate scorer as the policy of MaskablePPO of sb3-contrib.

The policy reads the mask from the observation, in training and in use, so callers need not pass masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.networks import CandidateScorer
from ssdgym.errors import SsdgymError

#: A batch of observations, as tensors.
Tensors = dict[str, Tensor]


class NoExtractor(BaseFeaturesExtractor):
    """A features extractor that returns observations unchanged, because the scorer reads all their arrays."""

    def __init__(self, observation_space: spaces.Space) -> None:
        super().__init__(observation_space, features_dim=1)

    def forward(self, observation: Tensors) -> Tensors:
        """Return the observation unchanged."""
        return observation


#: A scorer that does not begin with the ranking of a heuristic.
FROM_SCRATCH = ScorerConfig(start="none", sharpness=1.0)


def _noted(space: spaces.Space) -> tuple[Sequence[str], int]:
    """Return the features that a space of ssdgym names, and how many, the first, are of candidates."""
    noted = getattr(space, "environment", None)
    if noted is None or not isinstance(space, spaces.Dict):
        raise SsdgymError(
            "the observation space names no features; give candidate_features and context_features in "
            "policy_kwargs."
        )
    candidates = space["candidates"]
    assert isinstance(candidates, spaces.Box)
    return noted["kwargs"]["features"], candidates.shape[-1]


class ScorerActorCriticPolicy(MaskableActorCriticPolicy):
    """Softmax over the candidates' scores, and the scorer's value, for `sb3_contrib.MaskablePPO`.

    If no names of features are given, those are used that ssdgym stores with the observation space.
    """

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Schedule,
        candidate_features: Sequence[str] | None = None,
        context_features: Sequence[str] | None = None,
        scorer: ScorerConfig = FROM_SCRATCH,
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if candidate_features is None or context_features is None:
            features, columns = _noted(observation_space)
            candidate_features, context_features = features[:columns], features[columns:]
        self.scorer_arguments: dict[str, Any] = {
            "candidate_features": tuple(candidate_features),
            "context_features": tuple(context_features),
            "scorer": scorer,
        }
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[],
            features_extractor_class=NoExtractor,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "lr_schedule": self._dummy_schedule,  # only the weights of a saved policy are used
            "optimizer_class": self.optimizer_class,
            "optimizer_kwargs": self.optimizer_kwargs,
            **self.scorer_arguments,
        }

    def _build(self, lr_schedule: Schedule) -> None:
        self.scorer = CandidateScorer(*self.scorer_arguments.values())
        self.optimizer = self.optimizer_class(
            self.scorer.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def forward(
        self,
        obs: Tensors,  # type: ignore[override]
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions (B,), values (B, 1) and log probabilities (B,)."""
        distribution = self.get_distribution(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, self.predict_values(obs), distribution.log_prob(actions)

    def evaluate_actions(
        self,
        obs: Tensors,  # type: ignore[override]
        actions: Tensor,
        action_masks: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values (B, 1), log probabilities of the actions (B,) and entropies (B,)."""
        distribution = self.get_distribution(obs, action_masks)
        return self.predict_values(obs), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(
        self,
        obs: Tensors,  # type: ignore[override]
        action_masks: np.ndarray | Tensor | None = None,
    ) -> MaskableDistribution:
        """Return the distribution over the candidates; `action_masks` (B, K) can exclude more of them."""
        distribution = self.action_dist.proba_distribution(action_logits=self.scorer(*_arguments(obs)))
        mask = obs["action_mask"].bool()
        if action_masks is not None:
            mask = mask & torch.as_tensor(action_masks, device=mask.device).bool().reshape(mask.shape)
        distribution.apply_masking(mask)
        return distribution

    def predict_values(self, obs: Tensors) -> Tensor:  # type: ignore[override]
        """Return the values, shape (B, 1)."""
        return self.scorer.value(*_arguments(obs))


def _arguments(obs: Tensors) -> tuple[Tensor, Tensor, Tensor]:
    return obs["candidates"], obs["context"], obs["action_mask"]
