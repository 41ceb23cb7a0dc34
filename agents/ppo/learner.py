"""Masked PPO in plain PyTorch as a learner."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3.common.logger import Logger
from torch import Tensor

from ssdgym.agents.config import TrainConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.learning.segments import Segments, segment_seed
from ssdgym.agents.ppo.actor import Actor
from ssdgym.agents.ppo.advantages import RewardScale, advantages_of
from ssdgym.agents.ppo.decisions import Decisions
from ssdgym.agents.ppo.losses import Losses
from ssdgym.agents.ppo.network import Network
from ssdgym.agents.ppo.rollout import Collector, Rollout
from ssdgym.agents.ppo.update import Lesson, update
from ssdgym.agents.scorer import CandidateScorer
from ssdgym.errors import SsdgymError

#: How the log names losses, where not by their names; most as Stable-Baselines3 does.
_TITLES = {"total": "loss", "policy": "policy_gradient_loss", "value": "value_loss"}


class FastPpo:
    """See `ssdgym.agents.learning.learner.Learner`.

    Args:
        config: the training run.
        env: native vector environment to learn in.
        features: names of the columns it observes.
    """

    def __init__(self, config: TrainConfig, env: VectorEnv, features: FeatureNames) -> None:
        self.config, self.settings = config, config.fast_ppo
        torch.manual_seed(config.seed)
        self.scorer = CandidateScorer(features.candidates, features.context, config.scorer)
        self.decisions = 0
        self.prior: CandidateScorer | None = None
        self.rewards = RewardScale(gamma=self.settings.gamma if self.settings.normalise == "returns" else 0.0)
        self.network = Network(self.scorer)
        self.optimizer = torch.optim.Adam(
            [self.network.parameters], lr=self.settings.learning_rate, eps=1e-5, fused=True
        )
        self._collector = Collector(env, self.network, self.settings.rollout_steps)
        self._generator = torch.Generator()

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""
        self.logger = logger

    def set_linear_weights(self, weights: np.ndarray) -> None:
        """Set the weights (F,) of the linear part of the score."""
        with torch.no_grad():
            self.scorer.linear.weights.copy_(torch.as_tensor(weights))

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser, counters and the frozen start, as tensors and numbers."""
        return {
            "scorer": self.scorer.state_dict(),
            "prior": None if self.prior is None else self.prior.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": {"decisions": self.decisions, **vars(self.rewards)},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned.

        Raises:
            SsdgymError: it is of a version that optimised layer by layer.
        """
        if len(state["optimizer"]["param_groups"][0]["params"]) != 1:
            raise SsdgymError("the checkpoint is of an earlier fast_ppo; train anew in another folder.")
        self.scorer.load_state_dict(state["scorer"])
        if state["prior"] is not None:
            self.prior = copy.deepcopy(self.scorer)
            self.prior.load_state_dict(state["prior"])
        self.optimizer.load_state_dict(state["optimizer"])
        counters = dict(state["counters"])
        self.decisions = counters.pop("decisions")
        self.rewards = RewardScale(**{**counters, "gamma": self.rewards.gamma})  # a branch has its own

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn to the end of the run.

        Args:
            segments: called between updates and after every rollout.
            first_reward: not used: rewards are centred on their own running mean.
        """
        if self.decisions == 0 and self.settings.prior.kl > 0:
            self.prior = copy.deepcopy(self.scorer)
        segments.start(self.decisions)
        self._begin_segment()
        while self.decisions < self.config.total_decisions:
            if segments.end(self.decisions):
                self._begin_segment()
            self._take_update()
            segments.on_step(self.decisions)

    def _begin_segment(self) -> None:
        seed = segment_seed(self.config.seed, self.decisions)
        self._generator.manual_seed(seed)
        self._collector.begin(seed)

    def _take_update(self) -> None:
        """Play a rollout and learn from it."""
        share_left = 1 - self.decisions / self.config.total_decisions
        self.optimizer.param_groups[0]["lr"] = self.settings.learning_rate * share_left
        rollout = self._collector.collect(self._generator)
        self.rewards.update(rollout.rewards)
        losses = update(self.network, self.optimizer, self._lesson(rollout), self.settings, self._generator)
        self.decisions += rollout.actions.numel()
        self._log(rollout, losses)

    def _lesson(self, rollout: Rollout) -> Lesson:
        advantages = advantages_of(
            self.rewards.apply(rollout.rewards),
            rollout.values,
            rollout.next_values,
            rollout.ends,
            self.settings.gamma,
            self.settings.gae_lambda,
        )
        actions = rollout.actions.flatten()
        logs = rollout.scores.log_softmax(1)
        return Lesson(
            decisions=rollout.decisions,
            actions=actions,
            log_probabilities=logs.gather(1, actions.unsqueeze(1)).squeeze(1),
            advantages=advantages.flatten(),
            targets=(advantages + rollout.values).flatten(),
            prior=self._prior_logs(rollout.decisions),
        )

    def _prior_logs(self, decisions: Decisions) -> Tensor:
        """Return the log-probabilities of the frozen start, (K, B), or (0, B) where there is none."""
        if self.prior is None:
            return torch.empty(0, len(decisions.around))
        with torch.no_grad():
            score, parts = Actor(self.prior).scores, decisions.split(self.network.arrays)
            return torch.cat([score(part).log_softmax(0) for part in parts], dim=1)

    def _log(self, rollout: Rollout, losses: Losses) -> None:
        if rollout.returns:
            self.logger.record("rollout/ep_rew_mean", float(np.mean(rollout.returns)))
        self.logger.record("rollout/reward_mean", rollout.rewards.mean().item())
        for name, loss in vars(losses).items():
            self.logger.record(f"train/{_TITLES.get(name, name)}", loss.item())
        self.logger.dump(self.decisions)
