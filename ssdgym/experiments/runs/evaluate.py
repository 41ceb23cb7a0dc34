"""Check runs, and carry out many of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.jobs import jobs_of
from ssdgym.experiments.runs.run_spec import REPEATING, RunSpec, ftl_changes
from ssdgym.experiments.runs.workers import run_locally

#: Called with (runs done, runs in all).
Progress = Callable[[int, int], None]


def run_all(runs: Sequence[RunSpec], workers: int = 2, progress: Progress | None = None) -> list[Result]:
    """Carry out every run; the first error ends it.

    The results do not depend on `workers`. Workers are spawned, never forked, and use one thread each.

    Args:
        runs: what to run.
        workers: number of processes; 1 runs in this one.
        progress: called as runs finish.

    Returns:
        The results in the order of the runs.

    Raises:
        SsdgymError: a run is wrongly configured, or a worker died.
    """
    check_runs(runs)
    jobs = jobs_of(runs)
    finished: dict[int, Result] = {}
    with closing(run_locally([[runs[index] for index in job] for job in jobs], workers)) as outcomes:
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            finished.update(zip(jobs[outcome.job], outcome.results, strict=True))
            if progress:
                progress(len(finished), len(runs))
    return [finished[index] for index in range(len(runs))]


def check_runs(runs: Sequence[RunSpec]) -> None:
    """Load and check every device, workload and policy, which takes no time, before anything that does.

    Raises:
        SsdgymError: one of them does not exist, is wrongly configured or does not fit.
    """
    from ssdgym.config.preconditioning import read_preconditioning
    from ssdgym.policy import device_for
    from ssdgym.simulator.families import family_of
    from ssdgym.workloads.stream import check_addresses, load_workload

    devices = {}
    for run in {_device_key(run): run for run in runs}.values():
        device = device_for(run.device, ftl_changes(run.ftl), run.decider)
        family_of(device).check(device)
        if run.days is not None:
            family_of(device).check_ages(device)
        devices[_device_key(run)] = device
    for run in runs:
        if run.days is not None and (run.agent or run.day_requests or run.preconditioning in REPEATING):
            raise SsdgymError(
                f"{run.workload_name}: days pass behind the warm-up of a policy that plays a workload once: "
                "leave out days"
            )
        if run.sample_pages is not None and (
            run.agent or run.day_requests or run.preconditioning in REPEATING
        ):
            raise SsdgymError(
                f"{run.workload_name}: no samples are taken of agents, over days or of a workload that is "
                "repeated: leave out sample_pages"
            )
    for run in {(run.policy, run.agent, repr(run.environment)): run for run in runs if run.agent}.values():
        counted = run.host_pages is not None and run.requests is None and run.day_requests is None
        if run.preconditioning in REPEATING or read_preconditioning(run.preconditioning).is_the_runs_own:
            raise SsdgymError(
                f"{run.agent}: an agent plays an environment, which has no preconditioning "
                f"{run.preconditioning}: set it to none, fill, uniform or workload"
            )
        if not counted:
            raise SsdgymError(
                f"{run.agent}: an agent is evaluated for a number of host pages: set host_pages, and neither "
                "requests nor day_requests"
            )
        _check_agent(run)
    workloads = {}
    for run in {(repr(run.workload), run.requests, run.host_pages): run for run in runs}.values():
        workload = workloads[repr(run.workload)] = load_workload(run.workload)
        if run.requests is not None or not workload.is_endless:
            continue
        if run.host_pages is None:
            raise SsdgymError(f"workload {run.workload_name} never ends: set host_pages or requests")
        if workload.writes_nothing():
            raise SsdgymError(f"workload {run.workload_name} never ends and writes nothing: set requests")
    for run in {(_device_key(run), repr(run.workload)): run for run in runs}.values():
        check_addresses(workloads[repr(run.workload)], devices[_device_key(run)])


def _device_key(run: RunSpec) -> tuple[Any, ...]:
    """Return what the device of a run depends on."""
    return repr(run.device), run.ftl, run.decider, run.days


def _check_agent(run: RunSpec) -> None:
    """Check that there is such an agent, and the environment that it is to play.

    Files are looked at when they are run: of a sweep they are not there yet.
    """
    from ssdgym.agents.playing.files import FileSource
    from ssdgym.agents.playing.sources import source_of
    from ssdgym.experiments.runs.play import environment_of

    source = source_of(run.agent or "", trust=run.trust)
    if not isinstance(source, FileSource):
        source.digest()
        environment_of(source, run.environment)
