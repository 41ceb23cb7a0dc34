"""Measure the decisions per CPU second of `ppo` and `fast_ppo` in turns, and what takes it.

`python ppo_speed.py` has both learn on one thread with the same network, environment and batches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from stable_baselines3.common.logger import Logger

import ssdgym.agents.training.ppo as fast
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.config import TrainConfig, make_environment
from ssdgym.agents.training.sb3 import StableBaselinesLearner
from ssdgym.agents.training.stages import Segments
from ssdgym.agents.training.train import make_learner
from ssdgym.config.loading import load_config

PARTS = ("environment", "update", "the rest, mostly scoring")


class Clock:
    """Adds up the CPU time that calls take."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same and is timed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            result = function(*args, **kwargs)
            self.seconds += time.process_time() - began
            self.calls += 1
            return result

        return call


@contextmanager
def patched_update(learner: Any, clock: Clock) -> Iterator[None]:
    """Time the gradient steps of a learner."""
    if isinstance(learner, StableBaselinesLearner):
        with patch.object(learner.model, "train", clock.timed(learner.model.train)):
            yield
    else:
        with patch.object(fast, "update", clock.timed(fast.update)):
            yield


def measure(config: TrainConfig) -> tuple[float, np.ndarray]:
    """Return decisions per CPU second, and the shares of `PARTS`, after one update that is not measured."""
    env = make_environment(config.environment, config.n_envs)
    learner = make_learner(config, env, FeatureNames.of(env.vector_env))
    learner.set_logger(Logger(None, []))
    environment, update = Clock(), Clock()
    marks: list[tuple[float, int]] = []

    def at_step(decisions: int) -> None:
        if update.calls and not marks:
            marks.append((time.process_time(), decisions))
            environment.seconds = update.seconds = 0.0

    env.vector_env.step = environment.timed(env.vector_env.step)
    with patched_update(learner, update):
        learner.learn(Segments(10**9, lambda: None, at_step), 0.0)
    ((began, first),) = marks
    whole = time.process_time() - began
    env.close()
    shares = np.array([environment.seconds, update.seconds, whole - environment.seconds - update.seconds])
    return (learner.decisions - first) / whole, shares / whole


def main() -> None:
    """Measure, and print a line for each, the shares and the ratio."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--config", default="ppo-scratch", help="training to measure, of algorithm ppo")
    parser.add_argument("--decisions", type=int, default=131_072, help="of every measurement")
    parser.add_argument("--turns", type=int, default=3, help="measurements of each")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    fields = load_config(TrainConfig, arguments.config, "training").model_dump()
    fields |= {"total_decisions": arguments.decisions, "fast_ppo": fields["ppo"]}
    rates: dict[str, list[float]] = {"ppo": [], "fast_ppo": []}
    profiles: dict[str, list[np.ndarray]] = {"ppo": [], "fast_ppo": []}
    for _ in range(arguments.turns):
        for algorithm, found in rates.items():
            rate, shares = measure(TrainConfig.model_validate({**fields, "algorithm": algorithm}))
            found.append(rate)
            profiles[algorithm].append(1e6 / rate * shares)
            profile = ", ".join(f"{part} {share:.0%}" for part, share in zip(PARTS, shares, strict=True))
            print(f"{algorithm}: {rate:,.0f} decisions/s ({profile})", flush=True)
    for algorithm, found in rates.items():
        times = zip(PARTS, np.median(profiles[algorithm], axis=0), strict=True)
        print(
            f"median of {algorithm}: {np.median(found):,.0f} decisions/s; microseconds per decision: "
            + ", ".join(f"{part} {time:.1f}" for part, time in times)
        )
    ratios = [fast / slow for slow, fast in zip(*rates.values(), strict=True)]
    print(f"fast_ppo / ppo: {', '.join(f'{ratio:.2f}' for ratio in ratios)}; median {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
