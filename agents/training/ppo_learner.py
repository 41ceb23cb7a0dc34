"""PPO: its losses and their derivatives, the update of a rollout, and the learner."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3.common.logger import Logger
from torch import Tensor

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import FastPpoConfig, TrainConfig
from ssdgym.agents.training.ppo_network import Actor, Arrays, Decisions, Minibatch, Network
from ssdgym.agents.training.ppo_rollout import Collector, RewardScale, Rollout, advantages_of
from ssdgym.agents.training.stages import Segments, segment_seed

D = TypeVar("D", Decisions, Minibatch)


class Batch(NamedTuple, Generic[D]):
    """M decisions to learn from: a whole rollout, or those of one gradient step.

    Attributes:
        decisions: M of them, as they are kept, or to compute with.
        actions: int64 (M,).
        log_probabilities: float32 (M,), of the actions when they were drawn.
        advantages: float32 (M,); normalised in a gradient step.
        targets: float32 (M,), of the values.
        prior: float32 (K, M), log-probabilities of the frozen start; (0, M) where it is not held to.
    """

    decisions: D
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    prior: Tensor


def take(batch: Batch[Decisions], rows: Tensor, arrays: Arrays) -> Batch[Minibatch]:
    """Return the decisions of some rows, int64 (b,), of a rollout, with advantages normalised."""
    decisions, *numbers, prior = batch
    actions, logs, advantages, targets = (part.index_select(0, rows) for part in numbers)
    if len(rows) > 1:
        deviation, mean = torch.std_mean(advantages)
        advantages = (advantages - mean) / (deviation + 1e-8)
    return Batch(
        decisions.take(rows, arrays), actions, logs, advantages, targets, prior.index_select(1, rows)
    )


@dataclass(frozen=True)
class Losses:
    """What a gradient step goes down, and what is watched, each the mean of a minibatch.

    Attributes:
        total: the weighted sum.
        policy: of the clipped objective.
        value: squared error of the values.
        entropy: of the policy.
        approx_kl: estimate of the KL divergence from the policy that played.
        prior_kl: KL divergence from the frozen start; 0 where it is not held to.
    """

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    prior_kl: Tensor


def losses_of(
    scores: Tensor, values: Tensor, minibatch: Batch[Minibatch], config: FastPpoConfig
) -> tuple[Losses, Tensor, Tensor]:
    """Return losses, and the gradients of their total by scores (K, B) and values (B,), both float32."""
    count, actions = len(values), minibatch.actions.unsqueeze(0)
    logs = scores.log_softmax(0)
    shares = logs.exp()
    changes = logs.gather(0, actions).squeeze(0) - minibatch.log_probabilities
    ratios = changes.exp()
    gains = ratios * minibatch.advantages
    clipped = ratios.clamp(1 - config.clip_range, 1 + config.clip_range) * minibatch.advantages
    # beyond the clip nothing is gained, so the gradient is 0 there
    of_action = (gains * (gains <= clipped)) / -count
    of_scores = (shares * -of_action).scatter_add_(0, actions, of_action.unsqueeze(0))

    errors = values - minibatch.targets
    entropies = -(shares * logs).sum(0)
    if config.entropy_coefficient > 0:
        of_scores += shares * (logs + entropies) * (config.entropy_coefficient / count)
    policy, value = -torch.minimum(gains, clipped).mean(), errors.square().mean()
    entropy, prior_kl = entropies.mean(), torch.zeros(())
    total = policy + config.value_coefficient * value - config.entropy_coefficient * entropy
    if len(minibatch.prior):
        ratios_to_prior = logs - minibatch.prior
        divergences = (shares * ratios_to_prior).sum(0)
        prior_kl = divergences.mean()
        total = total + config.prior.kl * prior_kl
        of_scores += shares * (ratios_to_prior - divergences) * (config.prior.kl / count)
    approx_kl = (ratios - 1 - changes).mean()  # the third estimator of Schulman, 2020
    losses = Losses(total, policy, value, entropy, approx_kl, prior_kl)
    return losses, of_scores, errors * (2 * config.value_coefficient / count)


def update(
    network: Network,
    optimizer: torch.optim.Optimizer,
    batch: Batch[Decisions],
    config: FastPpoConfig,
    generator: torch.Generator,
) -> Losses:
    """Take the gradient steps of an update; return the losses of the last one."""
    for _ in range(config.epochs):
        order = torch.randperm(len(batch.actions), generator=generator)
        for rows in order.split(config.batch_decisions):
            losses = gradient_of(network, take(batch, rows, network.arrays), config)
            if config.target_kl is not None and losses.approx_kl > 1.5 * config.target_kl:
                return losses
            network.clip(config.max_gradient_norm)
            optimizer.step()
    return losses


def gradient_of(network: Network, minibatch: Batch[Minibatch], config: FastPpoConfig) -> Losses:
    """Write the gradient of the total loss to a network, and return the losses."""
    network.refresh()
    with torch.no_grad():
        scores, values = network.actor.scores(minibatch.decisions), network.critic.values(minibatch.decisions)
        losses, *gradients = losses_of(scores, values, minibatch, config)
        network.backward(minibatch.decisions, *gradients)
        network.finish()
    return losses


#: How the log names losses, where not by their names; most as Stable-Baselines3 does.
_TITLES = {"total": "loss", "policy": "policy_gradient_loss", "value": "value_loss"}


class FastPpo:
    """PPO by hand-written gradients: a `Learner` of `ssdgym.agents.training.train`."""

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

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser, counters and the frozen start, as tensors and numbers."""
        return {
            "scorer": self.scorer.state_dict(),
            "prior": None if self.prior is None else self.prior.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": {"decisions": self.decisions, **vars(self.rewards)},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.scorer.load_state_dict(state["scorer"])
        if state["prior"] is not None:
            self.prior = copy.deepcopy(self.scorer)
            self.prior.load_state_dict(state["prior"])
        self.optimizer.load_state_dict(state["optimizer"])
        counters = dict(state["counters"])
        self.decisions = counters.pop("decisions")
        self.rewards = RewardScale(**{**counters, "gamma": self.rewards.gamma})  # a branch has its own

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn to the end of the run. Rewards are centred on their own running mean, not on the first."""
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
        losses = update(self.network, self.optimizer, self._batch(rollout), self.settings, self._generator)
        self.decisions += rollout.actions.numel()
        self._log(rollout, losses)

    def _batch(self, rollout: Rollout) -> Batch[Decisions]:
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
        return Batch(
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
            return torch.empty(0, len(decisions.context))
        with torch.no_grad():
            score, minibatches = Actor(self.prior).scores, decisions.split(self.network.arrays)
            return torch.cat([score(minibatch).log_softmax(0) for minibatch in minibatches], dim=1)

    def _log(self, rollout: Rollout, losses: Losses) -> None:
        if rollout.returns:
            self.logger.record("rollout/ep_rew_mean", float(np.mean(rollout.returns)))
        self.logger.record("rollout/reward_mean", rollout.rewards.mean().item())
        for name, loss in vars(losses).items():
            self.logger.record(f"train/{_TITLES.get(name, name)}", loss.item())
        self.logger.dump(self.decisions)
