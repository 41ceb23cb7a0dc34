"""Run jobs as Ray tasks, on this machine or on a cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.evaluate import Jobs, Outcome, run_job
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.own_code import import_modules

#: Number of times that a job is restarted after its worker or node was lost.
RETRIES = 5
#: Largest number of tasks submitted to Ray at a time, so that a large grid does not fill its queues.
_AHEAD = 256
#: Size of Ray's object store in bytes: the smallest that Ray accepts, because jobs return only results.
_OBJECT_STORE_BYTES = 80 << 20
#: Timeout for a connection to the head node of a cluster, in seconds.
_REACH_S = 10.0


def run_on_ray(jobs: Jobs, address: str | None, workers: int) -> Generator[Outcome, None, None]:
    """Run all jobs and yield the outcome of each as it ends. Close the generator to stop the running jobs.

    `address` is the address of a cluster, as for `ray.init`. If it is None, a cluster with `workers` CPUs is
    started on this machine. Each job is a Ray task, which uses one CPU. Ray restarts the tasks of a lost
    worker or node. Every node needs this version of ssdgym, and traces and agents at the same paths.
    """
    with cluster(address, workers) as ray:
        yield from _drain(ray, jobs)


@contextmanager
def cluster(address: str | None, cpus: int) -> Iterator[Any]:
    """Connect to a Ray cluster, or start one, for the `with` block; use an existing connection if any."""
    # Without this setting, Ray sends usage statistics over the network.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise SsdgymError("Ray is not installed: install it with pip install 'ssdgym[tune]'") from error
    if ray.is_initialized():
        yield ray
        return
    started: dict[str, Any] = {
        "address": "local",  # never a cluster that happens to run on this machine
        "num_cpus": cpus,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE_BYTES,
    }
    if address is not None:
        _check_reachable(address)
    try:
        ray.init(
            **(started if address is None else {"address": address}),
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        hint = ""
        if address is not None and "RAY_AUTH_MODE" not in os.environ:
            hint = ", and set RAY_AUTH_MODE=token if it needs a token"
        raise SsdgymError(
            f"--address {address or 'local'}: there is no Ray cluster to connect to "
            f"({str(error).splitlines()[0]:.200}); start one with ray start --head{hint}"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise `SsdgymError` if the host accepts no connection; Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.rpartition("/")[2], int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        raise SsdgymError(
            f"--address {address}: there is no answer ({error}); start Ray with ray start --head, or "
            "correct the address"
        ) from None


def _drain(ray: Any, jobs: Jobs) -> Generator[Outcome, None, None]:
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(_task)
    settings = {name: value for name, value in os.environ.items() if name.startswith("SSDGYM_")}
    waiting = deque(range(len(jobs)))
    running: dict[Any, int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < _AHEAD:
                number = waiting.popleft()
                running[task.remote(os.getcwd(), settings, jobs[number])] = number
            (done,), _ = ray.wait(list(running), num_returns=1)
            yield running.pop(done), _found(ray, done)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _found(ray: Any, reference: Any) -> list[Result] | Exception:
    try:
        results: list[Result] = ray.get(reference)
        return results
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        return cause if isinstance(cause, Exception) else error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        return SsdgymError(f"its worker was lost {RETRIES + 1} times ({type(error).__name__}: {reason:.200})")


def _task(folder: str, settings: dict[str, str], runs: list[RunSpec]) -> list[Result]:
    """Run one job, with the working folder and the variables `SSDGYM_...` of the process that submits it."""
    os.environ.update(settings)
    if os.path.isdir(folder):
        os.chdir(folder)
    import_modules()
    return run_job(runs)
