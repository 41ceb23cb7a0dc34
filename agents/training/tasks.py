"""Runs that compare an agent, as a compiled rule, with a baseline policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ssdgym.agents.training.validation import metric_of
from ssdgym.errors import SsdgymError
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import Recording
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import open_on

_CHUNK = 1 << 14
#: First part of error messages.
WHERE = "evolution"


@dataclass(frozen=True)
class Play:
    """The arguments of a run, except its policy.

    Attributes:
        device: fields of the device.
        ftl: FTL fields that replace those of the device; None for none.
        workload: the workload of the run.
        seed: seed of the device and of the requests.
        host_pages: host pages that are measured.
        warmup: host pages before the measurement.
        preconditioning_seed: seed of the preconditioning before the run.
    """

    device: Mapping[str, Any]
    ftl: dict[str, Any] | None
    workload: WorkloadConfig
    seed: int
    host_pages: int
    warmup: int
    preconditioning_seed: int

    def simulator(self, policy: str, *, cache: bool) -> Simulator:
        """Return the preconditioned device; with `cache`, its state is read from or stored on disk."""
        # Snapshots copy the arrays of latencies, so these are short, and empty if the run is untimed.
        timed = (self.ftl or {}).get("timing") != "none"
        simulator = Simulator(
            dict(self.device),
            ftl=self.ftl,
            policy=policy,
            seed=self.seed,
            recording=Recording(1 << 17, 1 << 10) if timed else Recording(0, 0),
        )
        simulator.precondition(self.workload, seed=self.preconditioning_seed, cache=cache)
        return simulator

    def requests(self, host_pages: int) -> np.ndarray:
        """Return an array of REQUEST that writes at least `host_pages`, fewer if the workload ends."""
        simulator = Simulator(dict(self.device), ftl=self.ftl, seed=self.seed)
        stream = open_on(self.workload, simulator.device, self.seed)
        chunks, left = [], host_pages + _CHUNK
        while left > 0:
            chunk = stream.next(_CHUNK)
            if not len(chunk):
                break
            chunks.append(np.array(chunk))
            written = int(chunk["pages"][chunk["op"] == WRITE].sum())
            if not written:
                raise SsdgymError(
                    f"{WHERE}: workload {self.workload.kind} writes nothing in {_CHUNK} requests; choose "
                    "another one."
                )
            left -= written
        return np.concatenate(chunks) if chunks else np.zeros(0, REQUEST)


class Score(NamedTuple):
    """The score of a run relative to the baseline; smaller is better.

    Attributes:
        metric: `ln(metric / metric of the baseline)`.
        cap: that logarithm for the metric that should not exceed the baseline's; 0 if there is none.
        pages: pages written after the warm-up, including relocated pages.
    """

    metric: float
    cap: float
    pages: int

    def judged(self, cap_weight: float) -> float:
        """Return `metric`, plus `cap_weight * cap` if `cap` is above 0."""
        return self.metric + cap_weight * max(self.cap, 0.0)


class Task:
    """A run that is repeated with other weights; its requests and its preconditioned device stay the same.

    Args:
        play: the run.
        policy: policy that contains the agent, whose weights are replaced between runs.
        baseline: policy with which every run is compared; it runs once, when the task is made.
        metric: name of the metric to minimise.
        cap: name of a metric that should not exceed the baseline's; None for none.
    """

    def __init__(self, play: Play, policy: str, baseline: str, metric: str, cap: str | None) -> None:
        self.play, self.metric, self.cap = play, metric, cap
        self._requests = play.requests(play.warmup + play.host_pages)
        metrics = self._run(play.simulator(baseline, cache=True))
        self.baseline = metric_of(metrics, metric, WHERE), metric_of(metrics, cap or metric, WHERE)
        # The agent may place pages in the preconditioning, and its weights are not in the key of the cache.
        self._simulator = play.simulator(policy, cache=False)
        self._begin = self._simulator.snapshot()

    def run(self) -> dict[str, Any]:
        """Run the policy with the agent's present weights; return all metrics."""
        self._simulator.restore(self._begin)
        return self._run(self._simulator)

    def score(self) -> Score:
        """Run the policy with the agent's present weights; return its score relative to the baseline."""
        metrics = self.run()
        return Score(
            math.log(metric_of(metrics, self.metric, WHERE) / self.baseline[0]),
            0.0 if self.cap is None else math.log(metric_of(metrics, self.cap, WHERE) / self.baseline[1]),
            int(metrics["host_pages_written"] + metrics["relocated_pages"]),
        )

    def _run(self, simulator: Simulator) -> dict[str, Any]:
        return simulator.run(iter([self._requests]), host_pages=self.play.host_pages, warmup=self.play.warmup)
