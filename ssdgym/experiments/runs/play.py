"""Measure a learned agent: all seeds of a run side by side in one vector environment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ssdgym.agents.agent import Agent
from ssdgym.agents.environments import decision_arguments
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.run_spec import RunSpec, ftl_changes


def play_agent(runs: Sequence[RunSpec]) -> list[Result]:
    """Play one episode per run without exploration and return their results in order.

    The agent plays the environment it was trained in, with as many candidates of the same kind.

    Args:
        runs: of one agent, which differ in nothing but the seed.

    Raises:
        SsdgymError: the agent cannot be loaded, or does not fit the environment.
    """
    first = runs[0]
    assert first.agent is not None and first.host_pages is not None
    started = time.perf_counter()
    card = Agent.load(first.agent).card
    own = card.training.get("environment", {}).get("kwargs", {})
    environment = gym.make_vec(
        card.environment,
        num_envs=len(runs),
        vectorization_mode="vector_entry_point",
        **{name: own[name] for name in decision_arguments(card.environment) if name in own},
        device=first.device,
        ftl=ftl_changes(first.ftl),
        workload=first.workload,
        horizon=first.host_pages,
        warmup=first.warmup,
    )
    agent = Agent.load(first.agent, environment)
    # Gymnasium types the seed as one number, but takes one per environment, too
    observation, _ = environment.reset(seed=[run.seed for run in runs])  # type: ignore[arg-type]
    metrics: dict[int, dict[str, Any]] = {}
    while len(metrics) < len(runs):
        observation, _, terminated, truncated, info = environment.step(agent.act(observation))
        for i in np.flatnonzero(terminated | truncated):
            # Episodes end after the same number of host pages, not of decisions: the first one counts.
            metrics.setdefault(int(i), info["final_info"]["metrics"][i])
    environment.close()
    seconds = (time.perf_counter() - started) / len(runs)
    seeds = [run.seed for run in runs]
    return [result_of(run, metrics[i], seconds, seeds) for i, run in enumerate(runs)]
