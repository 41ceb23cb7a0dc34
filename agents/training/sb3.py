"""MaskablePPO of sb3-contrib: the candidate scorer as its policy, and what `train` learns with.

The policy reads the mask from the observation, in training as in use, so that no mask is ever missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import LinearSchedule
from torch import Tensor

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.stages import Segments, segment_seed
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError

#: What the policies see: an observation of a batch, as tensors.
Tensors = dict[str, Tensor]


class NoExtractor(BaseFeaturesExtractor):
    """A features extractor that passes observations on: the scorer needs none."""

    def __init__(self, observation_space: spaces.Space) -> None:
        super().__init__(observation_space, features_dim=1)

    def forward(self, observation: Tensors) -> Tensors:
        """Return the observation as it is."""
        return observation


#: A set network without the start of a heuristic.
FROM_SCRATCH = ScorerConfig(start="none", sharpness=1.0)


def _noted(space: spaces.Space) -> tuple[Sequence[str], int]:
    """Return the names of all features that an environment of ssdgym observes, and how many of candidates."""
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

    Without names of features it takes those of the environment, which ssdgym notes with the space.
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
        """Return the distribution over the candidates; `action_masks` (B, K) leave out more of them."""
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


#: What MaskablePPO counts; the rest of its attributes follow from the configuration.
_COUNTERS = ("num_timesteps", "_n_updates")


class StableBaselinesLearner:
    """MaskablePPO: a `Learner` of `ssdgym.agents.training.train`."""

    def __init__(self, config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> None:
        self.config, self.env = config, env
        self.model = make_ppo(config, env, features)

    @property
    def decisions(self) -> int:
        """Number of decisions learned from so far."""
        return self.model.num_timesteps

    @property
    def scorer(self) -> CandidateScorer:
        """The network that chooses."""
        policy = self.model.policy
        assert isinstance(policy, ScorerActorCriticPolicy)
        return policy.scorer

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""
        self.model.set_logger(logger)

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser and counters of the algorithm, as tensors and numbers."""
        model = self.model
        return {
            "policy": model.policy.state_dict(),
            "optimizer": model.policy.optimizer.state_dict(),
            "counters": {name: getattr(model, name) for name in _COUNTERS},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        model = self.model
        model.policy.load_state_dict(state["policy"])
        model.policy.optimizer.load_state_dict(state["optimizer"])
        for name in _COUNTERS:
            setattr(model, name, state["counters"][name])

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn to the end of the run, with the untrained agent's mean reward taken off."""
        self.env.reward_offset = -first_reward
        left = max(0, self.config.total_decisions - self.decisions)
        self._begin_segment()
        callback = _Callback(segments, self._begin_segment)
        self.model.learn(left, callback=callback, reset_num_timesteps=False)

    def _begin_segment(self) -> None:
        """Seed every generator again and begin new episodes."""
        model = self.model
        model.set_random_seed(segment_seed(self.config.seed, self.decisions))
        assert isinstance(model.env, SB3VecEnv)
        model._last_obs = model.env.reset()
        model._last_episode_starts = np.ones(model.n_envs, dtype=bool)


class _Callback(BaseCallback):
    """Updates the segments of a run with its progress."""

    def __init__(self, segments: Segments, begin: Callable[[], None]) -> None:
        super().__init__()
        self.segments, self.begin = segments, begin

    def _on_training_start(self) -> None:
        self.segments.start(self.model.num_timesteps)

    def _on_rollout_start(self) -> None:
        # here the update that belongs to the last rollout is done, and the next rollout has not looked yet
        if self.segments.end(self.model.num_timesteps):
            self.begin()

    def _on_step(self) -> bool:
        self.segments.on_step(self.model.num_timesteps)
        return True


def make_ppo(config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> MaskablePPO:
    """Make the untrained algorithm, with all weights drawn from `config.seed`."""
    ppo = config.ppo
    return MaskablePPO(
        ScorerActorCriticPolicy,
        env,
        n_steps=ppo.rollout_steps,
        batch_size=ppo.batch_decisions,
        n_epochs=ppo.epochs,
        learning_rate=LinearSchedule(ppo.learning_rate, 0.0, 1.0),
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.entropy_coefficient,
        vf_coef=ppo.value_coefficient,
        max_grad_norm=ppo.max_gradient_norm,
        target_kl=ppo.target_kl,
        seed=config.seed,
        device=config.device,
        policy_kwargs={
            "candidate_features": features.candidates,
            "context_features": features.context,
            "scorer": config.scorer,
        },
    )
