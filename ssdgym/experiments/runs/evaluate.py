"""Carry out jobs (lists of runs that belong together), in this process or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from ssdgym.agents.playing.files import FileSource, source_of
from ssdgym.agents.training.config import check_device
from ssdgym.config.device import DeviceConfig, read_preconditioning
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run import environment_of, play_agent, run_policy
from ssdgym.experiments.runs.spec import REPEATING, RunSpec, ftl_changes
from ssdgym.own_code import import_modules
from ssdgym.policy import device_for
from ssdgym.simulator.families import family_of
from ssdgym.workloads.stream import check_addresses, load_workload

#: The runs of each job.
Jobs = Sequence[list[RunSpec]]


#: The number of a job (from 0), and the results of its runs in order, or its error.
Outcome = tuple[int, list[Result] | Exception]


def jobs_of(runs: Sequence[RunSpec]) -> list[list[int]]:
    """Return the indices of the runs of each job; runs of an agent that differ only in the seed share a job.

    A network decides for many environments in about the time of one decision, so an agent plays all its seeds
    in one vector environment, unless preconditioning depends on the seed. Each run of a compiled policy is a
    job of its own, because joint runs would not be faster.
    """
    groups: dict[int | str, list[int]] = {}
    for index, run in enumerate(runs):
        is_alone = not run.agent or read_preconditioning(run.preconditioning).is_the_runs_own
        groups.setdefault(index if is_alone else repr(replace(run, seed=0)), []).append(index)
    return list(groups.values())


def run_job(runs: Sequence[RunSpec]) -> list[Result]:
    """Carry out the runs of one job, in this process."""
    if runs[0].agent is None:
        return [run_policy(run) for run in runs]
    return play_agent(runs)


_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_locally(jobs: Jobs, workers: int) -> Generator[Outcome, None, None]:
    """Run all jobs and yield the outcome of each as it ends. Close the generator to stop the running jobs.

    If `workers` is 1, jobs run in this process. Otherwise up to `workers` processes are spawned, not
    forked. Each uses one thread, and ends when this process ends.
    """
    if workers < 1:
        raise SsdgymError(f"workers must be at least 1, not {workers}")
    workers = min(workers, len(jobs))
    if workers > 1:
        yield from _run_in_processes(jobs, workers)
        return
    for number, runs in enumerate(jobs):
        try:
            found: list[Result] | Exception = run_job(runs)
        except Exception as error:  # noqa: BLE001  whatever it is, it belongs to this job
            found = error
        yield number, found


def _run_in_processes(jobs: Jobs, workers: int) -> Generator[Outcome, None, None]:
    """Run jobs in a pool. If a process dies, run the interrupted jobs one by one, then use a new pool."""
    waiting = deque(range(len(jobs)))
    while waiting:
        with _pool(workers) as pool:
            suspects = yield from _drain(pool, jobs, waiting, workers)
        for suspect in suspects:
            with _pool(1) as pool:
                guilty = yield from _drain(pool, jobs, deque([suspect]), 1)
            for number in guilty:
                sentence = (
                    "its worker process died, most likely for want of memory: evaluate with fewer workers or "
                    "a smaller device"
                )
                yield number, SsdgymError(sentence)


def _drain(
    pool: ProcessPoolExecutor, jobs: Jobs, waiting: deque[int], workers: int
) -> Generator[Outcome, None, list[int]]:
    """Yield the outcomes of the jobs in `waiting`; return the jobs that were running when a process died."""
    running: dict[Future[list[Result]], int] = {}
    died: list[int] = []
    while (waiting and not died) or running:
        while waiting and not died and len(running) < workers:
            number = waiting.popleft()
            try:
                running[pool.submit(run_job, jobs[number])] = number
            except BrokenProcessPool:
                died.append(number)
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            number = running.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                died.append(number)
            else:
                yield number, error if isinstance(error, Exception) else future.result()
    return died


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which are terminated if an exception leaves the `with` block."""
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare_worker
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            ours = set(multiprocessing.active_children()) - others
            for worker in ours:
                worker.terminate()
            for worker in ours:
                worker.join()
            raise


def _prepare_worker() -> None:
    """Prepare a worker: use one thread, ignore SIGINT, exit with the parent, import what `--import` names."""
    for variable in _ONE_THREAD:
        os.environ[variable] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import_modules()


def _end_with_parent() -> None:
    """Exit when the parent ends: a killed parent does not close its queues, so workers would wait forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


#: Called with (runs done, runs in all).
Progress = Callable[[int, int], None]


def run_all(runs: Sequence[RunSpec], workers: int = 2, progress: Progress | None = None) -> list[Result]:
    """Carry out all runs, and return their results in the order of the runs.

    Args:
        runs: runs to carry out.
        workers: number of processes; 1 uses this process. Results do not depend on it.
        progress: function to call with (runs done, runs in all) when a job ends.

    Raises:
        SsdgymError: a run is wrongly configured, or a worker died.
    """
    check_runs(runs)
    jobs = jobs_of(runs)
    finished: dict[int, Result] = {}
    with closing(run_locally([[runs[index] for index in job] for job in jobs], workers)) as outcomes:
        for number, found in outcomes:
            if isinstance(found, Exception):
                raise found
            finished.update(zip(jobs[number], found, strict=True))
            if progress:
                progress(len(finished), len(runs))
    return [finished[index] for index in range(len(runs))]


def check_runs(runs: Sequence[RunSpec]) -> None:
    """Load and check devices, workloads, policies and agents of runs; raise `SsdgymError` if one is wrong."""
    devices = {}
    for run in {_device_key(run): run for run in runs}.values():
        device = device_for(run.device, ftl_changes(run.ftl), run.decider)
        family_of(device).check(device)
        if run.days is not None:
            family_of(device).check_ages(device)
        devices[_device_key(run)] = device
    for run in runs:
        if not (run.agent or run.day_requests or run.preconditioning in REPEATING):
            continue
        if run.days is not None:
            raise SsdgymError(
                f"{run.workload_name}: days pass behind the warm-up of a policy that plays a workload once: "
                "leave out days"
            )
        if run.sample_pages is not None:
            raise SsdgymError(
                f"{run.workload_name}: no samples are taken of agents, over days or of a workload that is "
                "repeated: leave out sample_pages"
            )
    agents = {repr((run.device, run.ftl, run.agent, run.environment)): run for run in runs if run.agent}
    for run in agents.values():
        if run.preconditioning in (*REPEATING, "until_gc"):
            raise SsdgymError(
                f"{run.agent}: an agent plays an environment, which has no preconditioning "
                f"{run.preconditioning}: set another one, such as reads or until_gc_greedy"
            )
        if run.day_requests is not None:
            raise SsdgymError(
                f"{run.agent}: an agent plays a number of host pages or a workload to its end: leave out "
                "day_requests"
            )
        _check_agent(run, devices[_device_key(run)])
    workloads = {}
    for run in {(repr(run.workload), run.host_pages): run for run in runs}.values():
        workload = workloads[repr(run.workload)] = load_workload(run.workload)
        if workload.is_endless and run.host_pages is None:
            raise SsdgymError(f"workload {run.workload_name} never ends: set host_pages, or its requests")
        if workload.is_endless and workload.writes_nothing():
            raise SsdgymError(f"workload {run.workload_name} never ends and writes nothing: set its requests")
    for run in {(_device_key(run), repr(run.workload)): run for run in runs}.values():
        check_addresses(workloads[repr(run.workload)], devices[_device_key(run)])


def _device_key(run: RunSpec) -> tuple[Any, ...]:
    """Return a key that is equal for runs with the same device, FTL options, policy and days."""
    return repr(run.device), run.ftl, run.decider, run.days


def _check_agent(run: RunSpec, device: DeviceConfig) -> None:
    """Check that the agent exists, and that its environment's decision arises on the device.

    A missing file is no error here, because the trial of a sweep may not have written it yet.
    """
    source = source_of(run.agent or "", trust=run.trust)
    if isinstance(source, FileSource) and not source.path.exists():
        return
    source.digest()
    config = environment_of(source, run)
    try:
        check_device(config, device)
    except SsdgymError as error:
        advice = "" if source.own_environment() else " Another environment is chosen by --environment."
        raise SsdgymError(f"{run.policy} in {config.id}: {error}{advice}") from None
