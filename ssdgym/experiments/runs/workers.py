"""Run jobs in processes of this machine, each job's error its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.jobs import Jobs, Outcome, run_job
from ssdgym.experiments.runs.run_spec import RunSpec

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_locally(jobs: Jobs, workers: int) -> Generator[Outcome, None, None]:
    """Run all jobs and yield what comes of each as it ends. Close the generator to stop what still runs.

    Args:
        jobs: what to run.
        workers: number of processes; 1 runs in this one. Workers are spawned, never forked, use one thread
            each, and end when this process does, whatever ends it.

    Raises:
        SsdgymError: there are no workers.
    """
    if workers < 1:
        raise SsdgymError(f"workers must be at least 1, not {workers}")
    workers = min(workers, len(jobs))
    if workers > 1:
        yield from _run_in_processes(jobs, workers)
        return
    for number, runs in enumerate(jobs):
        yield _run_here(number, runs)


def _run_here(number: int, runs: list[RunSpec]) -> Outcome:
    try:
        return Outcome(number, run_job(runs))
    except Exception as error:  # noqa: BLE001  whatever it is, it belongs to this job
        return Outcome(number, error=error)


def _run_in_processes(jobs: Jobs, workers: int) -> Generator[Outcome, None, None]:
    """Run jobs in a pool; when a process dies, the pool dies, and the jobs under way are run one by one."""
    waiting = deque(range(len(jobs)))
    while waiting:
        with _pool(workers) as pool:
            suspects = yield from _drain(pool, jobs, waiting, workers)
        for number in suspects:
            with _pool(1) as pool:
                for _ in (yield from _drain(pool, jobs, deque([number]), 1)):
                    yield Outcome(
                        number,
                        error=SsdgymError(
                            "its worker process died, most likely for want of memory: evaluate with fewer "
                            "workers or a smaller device"
                        ),
                    )


def _drain(
    pool: ProcessPoolExecutor, jobs: Jobs, waiting: deque[int], workers: int
) -> Generator[Outcome, None, list[int]]:
    """Yield what comes of the waiting jobs; return those that were under way when a process died."""
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
            elif isinstance(error, Exception):
                yield Outcome(number, error=error)
            else:
                yield Outcome(number, future.result())
    return died


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Return a pool whose processes are terminated if its block is left early."""
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
    """Use one thread, ignore SIGINT (the parent handles it), and exit when the parent does."""
    for variable in _ONE_THREAD:
        os.environ[variable] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit with the parent: a killed one closes no queue, so that workers would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
