"""PPO in one file: rollouts, advantages, the losses, and the learner (Schulman et al., 2016 and 2017).

The code follows CleanRL (Huang et al., JMLR 2022), trains the candidate scorer, and runs on the CPU.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import PpoConfig, TrainConfig
from ssdgym.agents.training.stages import segment_seed
from ssdgym.types import Observation

#: Largest number of decisions whose values are computed at once.
_CHUNK = 1024
#: Weight of the latest rollout in the running mean and deviation of rewards.
_RATE = 0.1


class Decisions(NamedTuple):
    """B decisions, as inputs of `CandidateScorer`.

    Attributes:
        candidates: float32 (B, K, F).
        context: float32 (B, G).
        mask: bool (B, K), true where a candidate can be chosen; None if all can be chosen.
    """

    candidates: Tensor
    context: Tensor
    mask: Tensor | None

    @classmethod
    def of(cls, observation: Observation) -> Decisions:
        """Return the decisions of a batch of observations."""
        mask = torch.from_numpy(observation["action_mask"] != 0)
        candidates, context = (torch.from_numpy(observation[key]) for key in ("candidates", "context"))
        return cls(candidates, context, None if mask.all() else mask)

    def take(self, rows: Tensor | slice) -> Decisions:
        """Return the decisions of the given rows."""
        mask = None if self.mask is None else self.mask[rows]
        return Decisions(self.candidates[rows], self.context[rows], mask)

    def split(self) -> Iterator[Decisions]:
        """Yield all decisions in parts of at most `_CHUNK`."""
        for first in range(0, len(self.context), _CHUNK):
            yield self.take(slice(first, first + _CHUNK))


@dataclass
class RewardScale:
    """Subtracts a running mean of the rewards and divides by a running standard deviation.

    The mean reward is much larger than the effect of a choice. Summed over a thousand decisions, the mean
    would hide the effect (reward centring: Naik, Wan, Tomar, Sutton, 2024).

    Attributes:
        mean: running mean of rewards.
        deviation: running standard deviation of rewards or returns; 0 before the first rollout.
        gamma: above 0, rewards are divided by the deviation of returns with this discount; 0: of rewards.
    """

    mean: float = 0.0
    deviation: float = 0.0
    gamma: float = 0.0

    def update(self, rewards: Tensor) -> None:
        """Update mean and deviation by the rewards (T, N) of a rollout."""
        returns, before = rewards - rewards.mean(), torch.zeros_like(rewards[0])
        for row in returns if self.gamma else ():
            before = row.add_(before, alpha=self.gamma)
        rate = _RATE if self.deviation else 1.0
        self.mean += rate * (rewards.mean().item() - self.mean)
        self.deviation += rate * (returns.std().item() + 1e-8 - self.deviation)

    def apply(self, rewards: Tensor) -> Tensor:
        """Return centred and scaled rewards."""
        return (rewards - self.mean) / self.deviation


def advantages_of(
    rewards: Tensor, values: Tensor, next_values: Tensor, ends: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """Return the generalised advantage estimates (T, N) of a rollout.

    Args:
        rewards: (T, N).
        values: (T, N), values of the decisions.
        next_values: (T, N), values of the observations after the decisions. If the episode was truncated,
            this is its last observation. If it terminated, the value is 0.
        ends: (T, N), 1 if the episode ended with the decision, otherwise 0.
        gamma: discount per decision.
        gae_lambda: lambda of the estimates: smaller means more bias and less variance.
    """
    deltas = rewards + gamma * next_values - values
    keeps = gamma * gae_lambda * (1 - ends)
    advantages, last = torch.empty_like(rewards), torch.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        last = torch.addcmul(deltas[t], keeps[t], last, out=advantages[t])
    return advantages


#: Returns the actions to carry out, int64 (N,), from the drawn actions, the observation and the infos.
Chooser = Callable[[np.ndarray, Observation, dict[str, Any]], np.ndarray]


@dataclass(frozen=True)
class Rollout:
    """T decisions of each of N environments; decision t of environment i has the row `t * N + i`.

    Attributes:
        decisions: the T N decisions.
        scores: float32 (T N, K), scores of all candidates, from which actions were drawn.
        actions: int64 (T, N).
        rewards: float32 (T, N), rewards of the environments, not scaled.
        values: float32 (T, N), values of the decisions.
        next_values: float32 (T, N), as in `advantages_of`.
        ends: float32 (T, N), 1 if the episode ended with the decision.
        returns: undiscounted returns of the episodes that ended in the rollout.
    """

    decisions: Decisions
    scores: Tensor
    actions: Tensor
    rewards: Tensor
    values: Tensor
    next_values: Tensor
    ends: Tensor
    returns: list[float]


class Collector:
    """Plays a vector environment, rollout by rollout.

    Args:
        env: N environments with `AutoresetMode.SAME_STEP`.
        scorer: network from whose scores actions are drawn.
        steps: number T of decisions of each environment in a rollout.
    """

    def __init__(self, env: VectorEnv, scorer: CandidateScorer, steps: int) -> None:
        self.env, self.scorer, self.steps = env, scorer, steps

    def begin(self, seed: int) -> None:
        """Begin new episodes; environment i has the seed `seed + i`."""
        self._observation, self._infos = self.env.reset(seed=seed)
        self._running = np.zeros(self.env.num_envs)

    @torch.no_grad()
    def collect(self, generator: torch.Generator, choose: Chooser | None = None) -> Rollout:
        """Play T decisions in every environment, with drawn actions, which `choose` can replace."""
        shape, choices = (self.steps, self.env.num_envs), self._observation["action_mask"].shape[1]
        kept = {
            key: np.empty((self.steps, *value.shape), value.dtype) for key, value in self._observation.items()
        }
        scores = torch.empty(*shape, choices)
        actions = np.empty(shape, np.int64)
        rewards, ends, terminated = np.zeros((3, *shape), np.float32)
        returns: list[float] = []
        cut_off: list[tuple[int, int, Observation]] = []
        noise = gumbel(scores.shape, generator).numpy()
        for t in range(self.steps):
            for key, value in self._observation.items():
                kept[key][t] = value
            scores[t] = self.scorer(*Decisions.of(self._observation))
            drawn = (scores[t].numpy() + noise[t]).argmax(1)
            actions[t] = drawn if choose is None else choose(drawn, self._observation, self._infos)
            self._observation, reward, terminated[t], truncated, self._infos = self.env.step(actions[t])
            rewards[t], ends[t] = reward, np.logical_or(terminated[t], truncated)
            self._running += reward
            for i in np.flatnonzero(ends[t]):
                returns.append(float(self._running[i]))
                self._running[i] = 0.0
                cut_off.append((t, int(i), _row(self._infos["final_obs"], int(i))))
        decisions = Decisions.of({key: value.reshape(-1, *value.shape[2:]) for key, value in kept.items()})
        values = self._values(decisions).view(shape)
        following = torch.cat([values[1:], self._values(Decisions.of(self._observation)).unsqueeze(0)])
        if cut_off:  # Use the last observation of an ended episode, not the first one of the next episode.
            times, numbers, last = zip(*cut_off, strict=True)
            together = {key: np.stack([row[key] for row in last]) for key in last[0]}
            following[list(times), list(numbers)] = self._values(Decisions.of(together))
        following *= 1 - torch.from_numpy(terminated)
        played, paid, ended = map(torch.from_numpy, (actions, rewards, ends))
        return Rollout(decisions, scores.flatten(0, 1), played, paid, values, following, ended, returns)

    def _values(self, decisions: Decisions) -> Tensor:
        return torch.cat([self.scorer.value(*some).squeeze(1) for some in decisions.split()])


def _row(final: Any, i: int) -> Observation:
    """Return environment i's part of `final_obs`, a dictionary of arrays or an array of dictionaries."""
    return {key: value[i] for key, value in final.items()} if isinstance(final, dict) else final[i]


def gumbel(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Return Gumbel noise: the candidate with the largest score plus noise is a draw from the softmax."""
    return torch.empty(shape).exponential_(generator=generator).log_().neg_()


class Batch(NamedTuple):
    """M decisions: a whole rollout, or a minibatch.

    Attributes:
        decisions: M decisions.
        actions: int64 (M,).
        log_probabilities: float32 (M,), log-probabilities of the actions when they were drawn.
        advantages: float32 (M,), normalised by `take`.
        targets: float32 (M,), returns that the values are fitted to.
        prior: float32 (M, K), log-probabilities of the frozen initial network; None if `start_kl` is 0.
    """

    decisions: Decisions
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    prior: Tensor | None

    def take(self, rows: Tensor) -> Batch:
        """Return the decisions of some rows; advantages have mean 0 and deviation 1."""
        advantages = self.advantages[rows]
        if len(rows) > 1:
            deviation, mean = torch.std_mean(advantages)
            advantages = (advantages - mean) / (deviation + 1e-8)
        prior = None if self.prior is None else self.prior[rows]
        kept = self.actions[rows], self.log_probabilities[rows]
        return Batch(self.decisions.take(rows), *kept, advantages, self.targets[rows], prior)


class Losses(NamedTuple):
    """The loss of a gradient step, its parts and what is logged with it: means over a minibatch.

    Attributes:
        total: the weighted sum of losses, which is minimised.
        policy: loss of the clipped objective.
        value: squared error of the values.
        entropy: entropy of the policy.
        approx_kl: estimate of the KL divergence from the policy that collected the rollout.
        prior_kl: KL divergence from the frozen initial network; 0 if `start_kl` is 0.
    """

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    prior_kl: Tensor


def losses_of(scorer: CandidateScorer, batch: Batch, config: PpoConfig) -> Losses:
    """Return the losses of a minibatch."""
    logs = scorer(*batch.decisions).log_softmax(1)
    values = scorer.value(*batch.decisions).squeeze(1)
    changes = logs.gather(1, batch.actions.unsqueeze(1)).squeeze(1) - batch.log_probabilities
    ratios = changes.exp()
    clipped = ratios.clamp(1 - config.clip_range, 1 + config.clip_range)
    policy = -torch.minimum(ratios * batch.advantages, clipped * batch.advantages).mean()
    value = (values - batch.targets).square().mean()
    shares = logs.exp()
    entropy, prior_kl = -(shares * logs).sum(1).mean(), torch.zeros(())
    total = policy + config.value_coefficient * value - config.entropy_coefficient * entropy
    if batch.prior is not None:
        prior_kl = (shares * (logs - batch.prior)).sum(1).mean()
        total = total + config.start_kl * prior_kl
    approx_kl = (ratios - 1 - changes).mean()  # the third estimator of Schulman, 2020
    return Losses(total, policy, value, entropy, approx_kl, prior_kl)


def update(
    scorer: CandidateScorer,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    config: PpoConfig,
    generator: torch.Generator,
) -> Losses:
    """Make the gradient steps of an update, which `target_kl` may end; return the last minibatch's losses."""
    for _ in range(config.epochs):
        order = torch.randperm(len(batch.actions), generator=generator)
        for rows in order.split(config.batch_decisions):
            losses = losses_of(scorer, batch.take(rows), config)
            if config.target_kl is not None and losses.approx_kl > 1.5 * config.target_kl:
                return losses
            optimizer.zero_grad()
            losses.total.backward()
            nn.utils.clip_grad_norm_(scorer.parameters(), config.max_gradient_norm)
            optimizer.step()
    return losses


#: Names of losses in the log if they differ from the fields; most are names of Stable-Baselines3.
_TITLES = {"total": "loss", "policy": "policy_gradient_loss", "value": "value_loss"}


class Ppo:
    """PPO: a `Learner` of `ssdgym.agents.training.train`; rewards are centred on their running mean."""

    logger: Logger

    def __init__(self, config: TrainConfig, env: VectorEnv, features: FeatureNames) -> None:
        self.config, self.settings = config, config.ppo
        torch.manual_seed(config.seed)
        self.scorer = CandidateScorer(features.candidates, features.context, config.scorer)
        self.decisions = 0
        self.prior: CandidateScorer | None = None
        self.rewards = RewardScale(gamma=self.settings.gamma if self.settings.normalise == "returns" else 0.0)
        self.optimizer = torch.optim.Adam(
            self.scorer.parameters(), lr=self.settings.learning_rate, eps=1e-5, fused=True
        )
        self._collector = Collector(env, self.scorer, self.settings.rollout_steps)
        self._generator = torch.Generator()

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser, counters and the frozen initial network, as tensors and numbers."""
        return {
            "scorer": self.scorer.state_dict(),
            "prior": None if self.prior is None else self.prior.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": {"decisions": self.decisions, **vars(self.rewards)},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        self.scorer.load_state_dict(state["scorer"])
        if state["prior"] is not None:
            self.prior = copy.deepcopy(self.scorer)
            self.prior.load_state_dict(state["prior"])
        self.optimizer.load_state_dict(state["optimizer"])
        counters = dict(state["counters"])
        self.decisions = counters.pop("decisions")
        self.rewards = RewardScale(**counters)

    def begin_segment(self) -> None:
        """Begin new episodes with new seeds; in the first segment, freeze the initial network."""
        if self.decisions == 0 and self.settings.start_kl > 0:
            self.prior = copy.deepcopy(self.scorer)
        seed = segment_seed(self.config.seed, self.decisions)
        self._generator.manual_seed(seed)
        self._collector.begin(seed)

    def step(self) -> None:
        """Play a rollout, and update the network by it."""
        share_left = 1 - self.decisions / self.config.total_decisions
        self.optimizer.param_groups[0]["lr"] = self.settings.learning_rate * share_left
        rollout = self._collector.collect(self._generator)
        self.rewards.update(rollout.rewards)
        losses = update(self.scorer, self.optimizer, self._batch(rollout), self.settings, self._generator)
        self.decisions += rollout.actions.numel()
        self._log(rollout, losses)

    @torch.no_grad()
    def _batch(self, rollout: Rollout) -> Batch:
        settings, actions, prior = self.settings, rollout.actions.flatten(), None
        rewards, following = self.rewards.apply(rollout.rewards), (rollout.next_values, rollout.ends)
        advantages = advantages_of(rewards, rollout.values, *following, settings.gamma, settings.gae_lambda)
        logs = rollout.scores.log_softmax(1).gather(1, actions.unsqueeze(1)).squeeze(1)
        if self.prior is not None:
            prior = torch.cat([self.prior(*some).log_softmax(1) for some in rollout.decisions.split()])
        targets = (advantages + rollout.values).flatten()
        return Batch(rollout.decisions, actions, logs, advantages.flatten(), targets, prior)

    def _log(self, rollout: Rollout, losses: Losses) -> None:
        if rollout.returns:
            self.logger.record("rollout/ep_rew_mean", float(np.mean(rollout.returns)))
        self.logger.record("rollout/reward_mean", rollout.rewards.mean().item())
        for name, loss in losses._asdict().items():
            self.logger.record(f"train/{_TITLES.get(name, name)}", loss.item())
        self.logger.dump(self.decisions)
