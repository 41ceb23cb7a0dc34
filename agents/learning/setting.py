"""What a training run works with: threads, environments, and the learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import torch

from ssdgym.agents.algorithms import StableBaselinesLearner
from ssdgym.agents.config import TrainConfig
from ssdgym.agents.environments import make_environment, thread_arguments
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.learning.learner import Learner
from ssdgym.agents.ppo.learner import FastPpo
from ssdgym.envs.sb3 import SB3VecEnv


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
