"""Carry out one run with a victim policy, and make a result of what any run has found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import REPEATING, RunSpec, ftl_changes, ftl_label, spec_of, spec_text

if TYPE_CHECKING:
    from ssdgym.requests import Requests
    from ssdgym.simulator import Simulator
    from ssdgym.workloads import RequestStream
    from ssdgym.workloads.base import WorkloadConfig

#: Requests handed to the engine at a time: few enough to see progress, enough not to notice the hand-over.
CHUNK_REQUESTS = 1 << 17

#: Of the workload that preconditions a device; the environments' default.
PRECONDITIONING_SEED = 0

#: Times that a workload is played before giving up to see anything collected.
_MOST_REPETITIONS = 1000


def run_policy(run: RunSpec, progress: Callable[[int], None] | None = None) -> Result:
    """Carry out a run with a victim policy, in this process.

    Args:
        run: without an agent.
        progress: called now and then with the host pages written so far.

    Returns:
        What was measured.

    Raises:
        SsdgymError: the run is wrongly configured, or its trace cannot be read.
    """
    from ssdgym.config.device import read_preconditioning
    from ssdgym.policy.names import import_rules
    from ssdgym.simulator import Simulator
    from ssdgym.simulator.preconditioning import precondition, write_what_is_read
    from ssdgym.workloads.stream import load_workload, open_on

    import_rules(run.policy, trust=run.trust)
    started = time.perf_counter()
    simulator = Simulator(run.device, ftl=ftl_changes(run.ftl), policy=run.policy, seed=run.seed)
    workload = _to_play(load_workload(run.workload), run.preconditioning)
    series = None
    if run.preconditioning in REPEATING:
        if run.preconditioning == "reads_repeat":
            write_what_is_read(simulator, workload, run.seed)
        metrics = _repeated(simulator, workload, run.seed)
    else:
        # By the run's seed only what warms up the measured policy, or depends on what it plays.
        how = read_preconditioning(run.preconditioning)
        precondition(simulator, how, workload, run.seed if how.is_the_runs_own else PRECONDITIONING_SEED)
        stream = open_on(workload, simulator.device, run.seed)
        metrics, series = _played(simulator, stream, run, progress)
    metrics = {**metrics, "workload": _workload_facts(run, workload)}
    return result_of(run, metrics, time.perf_counter() - started, series=series)


def _played(
    simulator: Simulator, stream: RequestStream, run: RunSpec, progress: Callable[[int], None] | None
) -> tuple[dict[str, Any], dict[str, list[float]] | None]:
    """Play a run on a device that is ready for it; return the metrics, and samples where some are taken."""
    if run.day_requests is not None:
        return _over_days(simulator, stream, run, run.day_requests), None
    chunks = _chunks(stream, run.requests)
    if run.sample_pages is not None:
        return _sampled(simulator, chunks, run, progress)
    metrics = simulator.run(
        chunks, host_pages=run.host_pages, warmup=run.warmup, days=run.days or 0, progress=progress
    )
    return metrics, None


def _to_play(workload: WorkloadConfig, preconditioning: str) -> WorkloadConfig:
    """Return what is played; the records of a synthetic trace that is gone through several times are kept."""
    from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
    from ssdgym.workloads.synthetic.twin import kept

    is_played_again = preconditioning in (*REPEATING, "reads")
    return kept(workload) if is_played_again and isinstance(workload, SyntheticTraceConfig) else workload


def _sampled(
    simulator: Simulator, chunks: Iterator[Requests], run: RunSpec, progress: Callable[[int], None] | None
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Play a run with a look at the device after each so many pages; return the metrics and the samples."""
    from ssdgym.simulator.simulator import Sampler

    sampler = Sampler(simulator)

    def note(pages: int) -> None:
        sampler.note()
        if progress is not None:
            progress(pages)

    metrics = simulator.run(
        chunks,
        host_pages=run.host_pages,
        warmup=run.warmup,
        days=run.days or 0,
        progress=note,
        progress_every=run.sample_pages,
    )
    return {**metrics, **sampler.metrics()}, sampler.series


def result_of(
    run: RunSpec,
    metrics: Mapping[str, Any],
    wall_seconds: float,
    seeds: Sequence[int] = (),
    spec: str = "",
    series: Mapping[str, Sequence[float]] | None = None,
) -> Result:
    """Return the result of a run that has found these metrics; add facts about the workload where they lack.

    `seeds` are all that an agent has played in the same batch.
    """
    from ssdgym.engine.compiler.cache import engine_hash
    from ssdgym.workloads.stream import load_workload

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
    """Return the footprint of the workload on the run's device, and what was left out of a trace."""
    from ssdgym.policy import device_for
    from ssdgym.workloads.stream import open_on

    device = device_for(run.device, ftl_changes(run.ftl), run.decider)
    return open_on(workload, device, run.seed).report


def _repeated(simulator: Simulator, workload: WorkloadConfig, seed: int) -> dict[str, Any]:
    """Play a workload that ends until blocks have been erased, and once more; return the metrics of that."""
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
    """Play so many requests, let a day pass, and so on; return the metrics of what follows the warm-up."""
    if run.host_pages is None:
        raise SsdgymError("a run over days ends by the pages written: set host_pages")
    for pages in (run.warmup, run.host_pages):
        simulator.reset_metrics()
        while simulator.arrays.counters["host_pages_written"][0, 0] < pages:
            day = list(_chunks(stream, requests))
            if not day:
                raise SsdgymError("the workload ended before the run did; ask for fewer host pages")
            simulator.proceed(iter(day))
            simulator.pass_days(1)
    return simulator.metrics()


def _chunks(stream: RequestStream, limit: int | None) -> Iterator[Requests]:
    """Yield the stream in portions, up to `limit` requests."""
    left = CHUNK_REQUESTS if limit is None else limit
    while left > 0:
        chunk = stream.next(min(left, CHUNK_REQUESTS))
        if not len(chunk):
            return
        if limit is not None:
            left -= len(chunk)
        yield chunk
