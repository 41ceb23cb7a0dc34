"""Carry out a run of a policy, or the runs of an agent, and return their results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ssdgym.agents.playing.agents import Agent, Source
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.training.config import EnvironmentConfig, check_arguments, thread_arguments
from ssdgym.config.device import read_preconditioning
from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.envs.decisions import LONGEST_EPISODE
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import REPEATING, RunSpec, ftl_changes, ftl_label, spec_of, spec_text
from ssdgym.policy import device_for
from ssdgym.policy.names import import_rules
from ssdgym.requests import Requests
from ssdgym.simulator import Simulator
from ssdgym.simulator.cells import is_over
from ssdgym.simulator.preconditioning import precondition, write_what_is_read
from ssdgym.simulator.sampling import Sampler
from ssdgym.workloads import RequestStream
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.kept import kept
from ssdgym.workloads.stream import load_workload, open_on

#: Requests passed to the engine at a time: few enough to show progress, many enough to be fast.
CHUNK_REQUESTS = 1 << 17

#: Seed of the workload that preconditions a device; environments have the same default.
PRECONDITIONING_SEED = 0

#: Number of times that a workload is repeated until it causes garbage collection; then an error is raised.
_MOST_REPETITIONS = 1000


def run_policy(run: RunSpec, progress: Callable[[int], None] | None = None) -> Result:
    """Carry out the run of a policy in this process, and return its result.

    Args:
        run: a run without an agent.
        progress: function to call now and then with the host pages written so far.

    Raises:
        SsdgymError: the run is wrongly configured, or its trace cannot be read.
    """
    import_rules(run.policy, trust=run.trust)
    started = time.perf_counter()
    simulator = Simulator(run.device, ftl=ftl_changes(run.ftl), policy=run.policy, seed=run.seed)
    plain = load_workload(run.workload)
    workload = kept(plain)
    series = None
    if run.preconditioning in REPEATING:
        if run.preconditioning == "reads_repeat":
            write_what_is_read(simulator, workload, run.seed)
        metrics = _repeated(simulator, workload, run.seed)
    else:
        # Other preconditioning is the same for all policies and seeds, so it uses PRECONDITIONING_SEED.
        how = read_preconditioning(run.preconditioning)
        warms_up, seed = (workload, run.seed) if how.is_the_runs_own else (plain, PRECONDITIONING_SEED)
        precondition(simulator, how, warms_up, seed)
        stream = open_on(workload, simulator.device, run.seed)
        metrics, series = _played(simulator, stream, run, progress)
    metrics = {**metrics, "workload": _workload_facts(run, workload)}
    return result_of(run, metrics, time.perf_counter() - started, series=series)


def _played(
    simulator: Simulator, stream: RequestStream, run: RunSpec, progress: Callable[[int], None] | None
) -> tuple[dict[str, Any], dict[str, list[float]] | None]:
    """Carry out a run on a preconditioned device; return its metrics, and any samples or None."""
    if run.day_requests is not None:
        return _over_days(simulator, stream, run, run.day_requests), None
    sampler = None if run.sample_pages is None else Sampler(simulator)

    def note(pages: int) -> None:
        if sampler is not None:
            sampler.note()
        if progress is not None:
            progress(pages)

    metrics = simulator.run(
        _chunks(stream),
        host_pages=run.host_pages,
        warmup=run.warmup,
        days=run.days or 0,
        progress=note,
        progress_every=run.sample_pages,
    )
    return (metrics, None) if sampler is None else ({**metrics, **sampler.metrics()}, sampler.series)


def result_of(
    run: RunSpec,
    metrics: Mapping[str, Any],
    wall_seconds: float,
    seeds: Sequence[int] = (),
    spec: str = "",
    series: Mapping[str, Sequence[float]] | None = None,
) -> Result:
    """Return the result of a run with the given metrics; add missing ones named `workload/...`.

    `seeds` are all seeds that an agent has played in the same batch. An empty `spec` is made from `run`.
    """
    workload = load_workload(run.workload)
    return Result(
        device=run.device_name,
        ftl=ftl_label(run.ftl),
        workload=run.workload_name,
        policy=run.policy,
        seed=run.seed,
        objective=run.objective,
        assumed=", ".join(workload.assumptions()),
        engine_hash=engine_hash(),
        metrics=metrics if "workload" in metrics else {**metrics, "workload": _workload_facts(run, workload)},
        spec=spec or spec_text(spec_of(run, seeds)),
        series=series or {},
        wall_seconds=wall_seconds,
    )


def _workload_facts(run: RunSpec, workload: WorkloadConfig) -> dict[str, int]:
    """Return the metrics named `workload/...`, such as the footprint of the workload on the device."""
    device = device_for(run.device, ftl_changes(run.ftl), run.decider)
    return open_on(workload, device, run.seed).report


def _repeated(simulator: Simulator, workload: WorkloadConfig, seed: int) -> dict[str, Any]:
    """Run a workload repeatedly until it erases blocks, then once more; return the last run's metrics."""
    for _ in range(_MOST_REPETITIONS):
        has_collected = simulator.run(workload, seed=seed)["erases"] > 0
        simulator.reset_metrics()
        if has_collected:
            return simulator.run(workload, seed=seed)
    raise SsdgymError(
        f"workload {workload.kind}: played {_MOST_REPETITIONS} times it made the device collect nothing; "
        "play more of it, or on a smaller device"
    )


def _over_days(simulator: Simulator, stream: RequestStream, run: RunSpec, requests: int) -> dict[str, Any]:
    """Serve `requests` requests and let a day pass, in turns; return the metrics since the warm-up."""
    if run.host_pages is None:
        raise SsdgymError("a run over days ends by the pages written: set host_pages")
    for pages in (run.warmup, run.host_pages):
        simulator.reset_metrics()
        while simulator.arrays.counters["host_pages_written"][0, 0] < pages and not is_over(
            simulator.arrays, 0
        ):
            day = list(_chunks(stream, requests))
            if not day:
                raise SsdgymError("the workload ended before the run did; ask for fewer host pages")
            simulator.proceed(iter(day))
            simulator.pass_days(1)
    return simulator.metrics()


def _chunks(stream: RequestStream, limit: int = sys.maxsize) -> Iterator[Requests]:
    """Yield chunks of the stream, at most `limit` requests in all."""
    while limit and len(chunk := stream.next(min(limit, CHUNK_REQUESTS))):
        limit -= len(chunk)
        yield chunk


def play_agent(runs: Sequence[RunSpec]) -> list[Result]:
    """Play one episode per run and return the results in the order of the runs, which share one agent.

    An agent that `ssdgym train` wrote plays the environment of its training, with the same kind and number of
    candidates. Other agents play the environment of the runs. `wall_seconds` is the mean over the runs.
    """
    first = runs[0]
    assert first.agent is not None
    started = time.perf_counter()
    source = source_of(first.agent, trust=first.trust)
    config = environment_of(source, first)
    # Several runs share the cores, so each uses one thread. Rewards are not used.
    own = {**thread_arguments(config.id, 1), **config.kwargs, "reward": "plain"}
    environment = gym.make_vec(
        config.id,
        num_envs=len(runs),
        vectorization_mode="vector_entry_point",
        **own,
        **_arguments(first),
    )
    try:
        metrics = _play(source.build(environment), environment, [run.seed for run in runs], source.text)
    finally:
        environment.close()
    least = first.host_pages or 0
    written = min(
        least if found.get("end_of_life") else found["host_pages_written"] for found in metrics.values()
    )
    if written < least:
        raise SsdgymError(
            f"the workload ended after {written} of {least} host pages; give it more requests or "
            "loops, or ask for fewer host pages."
        )
    seconds = (time.perf_counter() - started) / len(runs)
    seeds = [run.seed for run in runs]
    return [result_of(run, metrics[i], seconds, seeds) for i, run in enumerate(runs)]


def _arguments(run: RunSpec) -> dict[str, Any]:
    """Return the arguments of an environment that the run of an agent sets."""
    drawn_by_the_run = read_preconditioning(run.preconditioning).is_the_runs_own
    return {
        "device": run.device,
        "ftl": ftl_changes(run.ftl),
        # A trace starts at its first request, as in the run of a policy, so that results are comparable.
        "workload": load_workload(run.workload).with_start("first"),
        "at_end": "truncate",
        "horizon": run.host_pages or LONGEST_EPISODE - 1,
        "warmup": run.warmup,
        "preconditioning": run.preconditioning,
        "preconditioning_seed": run.seed if drawn_by_the_run else PRECONDITIONING_SEED,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }


def environment_of(source: Source, run: RunSpec) -> EnvironmentConfig:
    """Return the agent's own environment; without one, return the run's, or if it is None the default."""
    config = source.own_environment() or run.environment or EnvironmentConfig()
    for name in (*_arguments(run), "size_to_trace"):
        if name in config.kwargs:
            raise SsdgymError(
                f"environment.kwargs.{name}: every run of an evaluation sets it; leave it out there."
            )
    check_arguments(config.id, config.kwargs)
    return config


def _play(agent: Agent, environment: VectorEnv, seeds: Sequence[int], text: str) -> dict[int, dict[str, Any]]:
    """Play one episode per seed; return the metrics by index of the seed."""
    rng = np.random.default_rng(seeds)
    # Gymnasium types the seed as one number, but also takes one per environment
    observation, _ = environment.reset(seed=list(seeds))  # type: ignore[arg-type]
    metrics: dict[int, dict[str, Any]] = {}
    while len(metrics) < len(seeds):
        actions = _checked(agent.act(observation, observation["action_mask"] != 0, rng), len(seeds), text)
        observation, _, terminated, truncated, _ = environment.step(actions)
        for i in np.flatnonzero(terminated | truncated):
            # Episodes differ in their number of decisions; only the first of each environment counts.
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
