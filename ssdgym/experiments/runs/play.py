"""Measure an agent: all seeds of a run side by side in one vector environment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ssdgym.agents.playing.agents import Agent, Source
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.training.config import EnvironmentConfig, check_arguments, thread_arguments
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run import result_of
from ssdgym.experiments.runs.spec import RunSpec, ftl_changes
from ssdgym.workloads.stream import load_workload

#: Arguments of environments that the run itself gives.
_OF_THE_RUN = (
    "device",
    "ftl",
    "workload",
    "size_to_trace",
    "at_end",
    "horizon",
    "warmup",
    "preconditioning",
    "autoreset_mode",
)


def play_agent(runs: Sequence[RunSpec]) -> list[Result]:
    """Play one episode per run and return their results in order.

    An agent that `ssdgym train` wrote plays the environment it was trained in, with as many candidates of the
    same kind; any other plays the one that the runs name.
    """
    first = runs[0]
    assert first.agent is not None and first.host_pages is not None
    started = time.perf_counter()
    source = source_of(first.agent, trust=first.trust)
    config = environment_of(source, first.environment)
    environment = gym.make_vec(
        config.id,
        num_envs=len(runs),
        vectorization_mode="vector_entry_point",
        # Runs share the cores out between them; rewards are not looked at.
        **{**thread_arguments(config.id, 1), **config.kwargs, "reward": "plain"},
        device=first.device,
        ftl=ftl_changes(first.ftl),
        # What a policy plays in the same run, to be compared with it.
        workload=load_workload(first.workload).with_start("first"),
        at_end="truncate",
        horizon=first.host_pages,
        warmup=first.warmup,
        preconditioning=first.preconditioning,
        autoreset_mode=AutoresetMode.NEXT_STEP,
    )
    try:
        metrics = _play(source.build(environment), environment, [run.seed for run in runs], source.text)
    finally:
        environment.close()
    written = min(found["host_pages_written"] for found in metrics.values())
    if written < first.host_pages:
        raise SsdgymError(
            f"the workload ended after {written} of {first.host_pages} host pages; give it more requests or "
            "loops, or ask for fewer host pages."
        )
    seconds = (time.perf_counter() - started) / len(runs)
    seeds = [run.seed for run in runs]
    return [result_of(run, metrics[i], seconds, seeds) for i, run in enumerate(runs)]


def environment_of(source: Source, given: EnvironmentConfig | None) -> EnvironmentConfig:
    """Return the environment that an agent plays."""
    config = source.own_environment() or given or EnvironmentConfig()
    for name in _OF_THE_RUN:
        if name in config.kwargs:
            raise SsdgymError(
                f"environment.kwargs.{name}: every run of an evaluation sets it; leave it out there."
            )
    check_arguments(config.id, config.kwargs)
    return config


def _play(agent: Agent, environment: VectorEnv, seeds: Sequence[int], text: str) -> dict[int, dict[str, Any]]:
    """Play one episode of each seed; return their metrics by number."""
    rng = np.random.default_rng(seeds)
    # Gymnasium types the seed as one number, but takes one per environment, too
    observation, _ = environment.reset(seed=list(seeds))  # type: ignore[arg-type]
    metrics: dict[int, dict[str, Any]] = {}
    while len(metrics) < len(seeds):
        actions = _checked(agent.act(observation, observation["action_mask"] != 0, rng), len(seeds), text)
        observation, _, terminated, truncated, _ = environment.step(actions)
        for i in np.flatnonzero(terminated | truncated):
            # Episodes end after the same number of host pages, not of decisions: the first one counts.
            metrics.setdefault(int(i), environment.unwrapped.envs[i].metrics())  # type: ignore[attr-defined]
    return metrics


def _checked(actions: Any, count: int, text: str) -> np.ndarray:
    actions = np.asarray(actions)
    if actions.shape != (count,) or actions.dtype.kind not in "iu":
        raise SsdgymError(
            f"agent {text}: act returned an array {actions.shape} of {actions.dtype}; it has to return one "
            f"whole number for each of {count} environments."
        )
    return actions
