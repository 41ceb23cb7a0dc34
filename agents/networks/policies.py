"""The candidate scorer as an actor-critic policy of MaskablePPO.

It reads the mask from the observation, in training as in use, so that no mask can go missing on the way.
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
from ssdgym.agents.networks.scorer import CandidateScorer

#: What the policies see: an observation of a batch, as tensors.
Tensors = dict[str, Tensor]


class NoExtractor(BaseFeaturesExtractor):
    """A features extractor that passes observations on: the scorer needs none."""

    def __init__(self, observation_space: spaces.Space) -> None:
        super().__init__(observation_space, features_dim=1)

    def forward(self, observation: Tensors) -> Tensors:
        """Return the observation as it is."""
        return observation


class ScorerActorCriticPolicy(MaskableActorCriticPolicy):
    """Softmax over the candidates' scores, and the scorer's value, for `sb3_contrib.MaskablePPO`.

    Args:
        observation_space: `Dict(candidates (K, F), context (G,), action_mask (K,))`.
        action_space: `Discrete(K)`.
        lr_schedule: learning rate by remaining progress.
        candidate_features: names of the F columns of `candidates`.
        context_features: names of the G entries of `context`.
        scorer: shape and starting point of the network.
        optimizer_class: as in Stable-Baselines3.
        optimizer_kwargs: as in Stable-Baselines3.
    """

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Schedule,
        candidate_features: Sequence[str],
        context_features: Sequence[str],
        scorer: ScorerConfig,
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
    ) -> None:
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
        """Return actions (B,), values (B, 1) and log probabilities (B,).

        Args:
            obs: a batch of B decisions.
            deterministic: take the best candidates, or draw.
            action_masks: (B, K), further candidates to leave out where zero.
        """
        distribution = self.get_distribution(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, self.predict_values(obs), distribution.log_prob(actions)

    def evaluate_actions(
        self,
        obs: Tensors,  # type: ignore[override]
        actions: Tensor,
        action_masks: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values (B, 1), log probabilities of the actions (B,) and entropies (B,).

        Args:
            obs: a batch of B decisions.
            actions: (B,), the candidates chosen.
            action_masks: (B, K), further candidates to leave out where zero.
        """
        distribution = self.get_distribution(obs, action_masks)
        return self.predict_values(obs), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(
        self,
        obs: Tensors,  # type: ignore[override]
        action_masks: np.ndarray | Tensor | None = None,
    ) -> MaskableDistribution:
        """Return the distribution over the candidates.

        Args:
            obs: a batch of B decisions, with their masks.
            action_masks: (B, K), further candidates to leave out where zero.
        """
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
