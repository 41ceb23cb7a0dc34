"""What `train` learns with: MaskablePPO of sb3-contrib or `FastPpo`, saved as plain tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Protocol

import torch
from stable_baselines3.common.logger import Logger

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import TrainConfig, make_environment, thread_arguments
from ssdgym.agents.training.ppo.learner import FastPpo
from ssdgym.agents.training.sb3 import StableBaselinesLearner
from ssdgym.agents.training.stages import Segments
from ssdgym.envs.sb3 import SB3VecEnv


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
