"""Deep Q-learning from credit: what each decision has cost by itself, and which one goes on with its page."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.playing.agents import RandomAction
from ssdgym.agents.training.config import DqnConfig, TrainConfig
from ssdgym.agents.training.stages import Segments, segment_seed
from ssdgym.envs.credit import CreditBuffer, Transitions
from ssdgym.types import Observation


class Dqn:
    """A `Learner` of `ssdgym.agents.training.train` (Mnih et al., Nature 2015).

    A score is minus what the page is going to cost, discounted by its moves, if it goes to that candidate.
    All candidates of a decision that is credited are valid. A segment forgets the transitions of the one
    before.
    """

    def __init__(self, config: TrainConfig, env: VectorEnv, features: FeatureNames) -> None:
        self.config, self.settings, self.env = config, config.dqn, env
        torch.manual_seed(config.seed)
        self.scorer = CandidateScorer(features.candidates, features.context, config.scorer)
        self.target = copy.deepcopy(self.scorer)
        self.optimizer = torch.optim.Adam(self.scorer.parameters(), lr=self.settings.learning_rate)
        self.decisions = self.updates = 0
        self._entries = len(features.context)

    def set_logger(self, logger: Logger) -> None:
        """Write what is learned to a logger."""
        self.logger = logger

    def state(self) -> dict[str, Any]:
        """Return weights, optimiser and counters, as tensors and numbers."""
        return {
            "scorer": self.scorer.state_dict(),
            "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counters": {"decisions": self.decisions, "updates": self.updates},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        for name in ("scorer", "target", "optimizer"):
            getattr(self, name).load_state_dict(state[name])
        self.decisions, self.updates = (state["counters"][name] for name in ("decisions", "updates"))

    def learn(self, segments: Segments, first_reward: float) -> None:
        """Learn to the end of the run. Rewards are not looked at."""
        segments.start(self.decisions)
        self._begin_segment()
        steps = 0
        while self.decisions < self.config.total_decisions:
            if segments.end(self.decisions):
                self._begin_segment()
            self._play()
            steps += 1
            if len(self._buffer) >= self.settings.learning_starts and steps % self.settings.train_every == 0:
                self._update()
            segments.on_step(self.decisions)

    def _begin_segment(self) -> None:
        seed = segment_seed(self.config.seed, self.decisions)
        self._rng = np.random.default_rng(seed)
        self._observation, self._infos = self.env.reset(seed=seed)
        self._buffer = CreditBuffer(self.settings.buffer_size, rows_of(self._observation).shape[1:])

    def _play(self) -> None:
        """Take a decision in every environment, at random with a share that falls to `epsilon`."""
        rows, settings = rows_of(self._observation), self.settings
        over = self.decisions / (settings.decay * self.config.total_decisions)
        drawn = self._rng.random(len(rows)) < max(settings.epsilon, 1 - over)
        mask = self._observation["action_mask"] != 0
        random = RandomAction().act(self._observation, mask, self._rng)
        with torch.no_grad():
            best = self._scores(self.scorer, torch.from_numpy(rows)).argmax(1).numpy()
        actions = np.where(drawn, random, best)
        self._buffer.note(self._infos, rows, actions)
        self._observation, _, _, _, self._infos = self.env.step(actions)
        self._buffer.join(self._infos)
        self.decisions += len(rows)

    def _update(self) -> None:
        """Take a gradient step."""
        settings = self.settings
        share_left = 1 - self.decisions / self.config.total_decisions
        self.optimizer.param_groups[0]["lr"] = settings.learning_rate * max(share_left, 0.0)
        batch = self._buffer.sample(settings.batch_decisions, self._rng)
        scores = self._scores(self.scorer, torch.from_numpy(batch.seen))
        taken = scores.gather(1, torch.from_numpy(batch.actions)[:, None]).squeeze(1)
        with torch.no_grad():
            following = self._scores(self.target, torch.from_numpy(batch.following)).max(1).values
        loss = nn.functional.mse_loss(taken, targets_of(batch, following, settings))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % settings.target_every == 0:
            self.target.load_state_dict(self.scorer.state_dict())
            self.logger.record("train/loss", loss.item())
            self.logger.dump(self.decisions)

    def _scores(self, scorer: CandidateScorer, rows: Tensor) -> Tensor:
        """Return the scores (n, K) of rows as `rows_of` makes them."""
        context = rows[:, : self._entries]
        candidates = rows[:, self._entries :].reshape(len(rows), -1, scorer.candidate_layer.in_features)
        return scorer(candidates, context, torch.ones(candidates.shape[:2]))


def rows_of(observation: Observation) -> np.ndarray:
    """Return an observation as one row (n, G + K F) for each environment: context, then its candidates."""
    candidates = observation["candidates"].reshape(len(observation["context"]), -1)
    return np.concatenate([observation["context"], candidates], axis=1)


def targets_of(batch: Transitions, following: Tensor, settings: DqnConfig) -> Tensor:
    """Return the scores (m,) that decisions should have had.

    A page that dies beside pages that live on may wait for very long, so costs are cut at `most_cost`.

    Args:
        batch: m transitions.
        following: (m,), best scores of the decisions that went on with the pages.
        settings: discount and limit.
    """
    costs = torch.from_numpy(batch.costs).clamp(max=settings.most_cost)
    return -costs + settings.gamma * following.clamp(max=0) * torch.from_numpy(~batch.done)
