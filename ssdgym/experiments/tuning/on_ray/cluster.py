"""Import Ray with its settings, and connect to a cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import SweepConfig

# Ray reads these as it is imported: no usage reports, no printing (its newer output prints a summary whatever
# its verbosity), no handler of SIGINT, and no logs beside our results.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
for _name, _value in _SETTINGS.items():
    os.environ.setdefault(_name, _value)

try:
    import ray
    from ray import tune
except ModuleNotFoundError as error:
    raise SsdgymError(
        f"a sweep needs the package {error.name}: install it with pip install 'ssdgym[tune]'"
    ) from error

__all__ = ["cluster", "last_line", "ray", "tune"]

#: Trials pass reports, not arrays; this is the least that Ray takes.
_OBJECT_STORE_BYTES = 80 << 20


@contextmanager
def cluster(sweep: SweepConfig, address: str | None) -> Iterator[None]:
    """Connect to a cluster or start one for the block; use one that is there already, and leave it.

    Args:
        sweep: says how many cores a local cluster needs.
        address: of a cluster that runs; None: a local one.

    Raises:
        SsdgymError: the cluster cannot be used.
    """
    if ray.is_initialized():
        yield
        return
    common: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    try:
        if address is None:
            cores = len(os.sched_getaffinity(0))
            wanted = min(sweep.concurrent * sweep.cpus_per_trial, cores)
            ray.init(
                address="local",  # never one that happens to run on this machine
                num_cpus=max(wanted, sweep.cpus_per_trial),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                **common,
            )
        else:
            ray.init(address=address, **common)
    except (ConnectionError, ValueError, RuntimeError) as error:
        what, hint = address or "local", ""
        if address is not None and "RAY_AUTH_MODE" not in os.environ:
            hint = "; see that it runs, and set RAY_AUTH_MODE=token if it asks for a token"
        raise SsdgymError(f"the Ray cluster {what} cannot be used ({last_line(error)}){hint}") from error
    try:
        yield
    finally:
        ray.shutdown()


def last_line(error: object) -> str:
    """Return the last line of an error; Ray puts the traceback of the worker in front of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{SsdgymError.__module__}.SsdgymError: ") if lines else repr(error)
