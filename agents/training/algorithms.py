"""What `train` learns with: MaskablePPO of sb3-contrib or `FastPpo`, saved as plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import LinearSchedule

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks.policies import ScorerActorCriticPolicy
from ssdgym.agents.networks.scorer import CandidateScorer
from ssdgym.agents.training.config import TrainConfig, make_environment, thread_arguments
from ssdgym.agents.training.ppo.learner import FastPpo
from ssdgym.agents.training.stages import Segments, segment_seed
from ssdgym.envs.sb3 import SB3VecEnv

#: What MaskablePPO counts; the rest of its attributes follow from the configuration.
_COUNTERS = ("num_timesteps", "_n_updates")


class StableBaselinesLearner:
    """MaskablePPO; see `ssdgym.agents.training.algorithms.Learner`.

    Args:
        config: the training run.
        env: environments to learn in.
        features: names of the columns they observe.
    """

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

    def set_linear_weights(self, weights: np.ndarray) -> None:
        """Set the weights (F,) of the linear part of the score."""
        with torch.no_grad():
            self.scorer.linear.weights.copy_(torch.as_tensor(weights))

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
        """Learn to the end of the run.

        Args:
            segments: called between segments and after every step.
            first_reward: mean reward of the untrained agent, which is taken off.
        """
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
    """Updates the segments of a run with its progress.

    Args:
        segments: of the run.
        begin: begins the next segment.
    """

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
    """Make the untrained algorithm, with all weights drawn from `config.seed`.

    Args:
        config: the training run.
        env: environments to learn in.
        features: names of the columns they observe.
    """
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
            segments: updated at the start and with every step; they end the run between updates.
            first_reward: mean reward of a decision of the untrained agent.

        Raises:
            Enough: the run ends at a checkpoint.
        """


def make_learner(config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> Learner:
    """Make the untrained learner of a run, with all weights drawn from its seed.

    Args:
        config: the run.
        env: environments to learn in.
        features: names of the columns they observe.
    """
    if config.algorithm == "fast_ppo":
        return FastPpo(config, env.vector_env, features)
    return StableBaselinesLearner(config, env, features)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch use so many threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def environments_of(config: TrainConfig) -> Iterator[tuple[SB3VecEnv, list[SB3VecEnv]]]:
    """Yield environments to learn in, and batches of them to evaluate in, closed at the end of the block."""
    evaluation = config.evaluation
    played = [{"workload": workload} for workload in evaluation.workloads] or [{}]
    kwargs = thread_arguments(config.environment.id, config.threads) | config.environment.kwargs
    environment = config.environment.model_copy(update={"kwargs": kwargs})
    with ExitStack() as stack:
        env = stack.enter_context(closing(make_environment(environment, config.n_envs)))
        batches = []
        for one in played:
            arguments = {**evaluation.kwargs, **one}
            batch = make_environment(environment, evaluation.episodes, **arguments)
            batches.append(stack.enter_context(closing(batch)))
        yield env, batches
