"""Runs by which the weights of a compiled agent are judged, beside a baseline."""

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
#: What errors begin with.
WHERE = "evolution"


@dataclass(frozen=True)
class Play:
    """A run without its policy.

    Attributes:
        device: fields.
        ftl: changes of its FTL; None: none.
        workload: the workload of the run.
        seed: of the device and the requests.
        host_pages: measured.
        warmup: before that.
        preconditioning_seed: of the steady state in which the run begins.
    """

    device: Mapping[str, Any]
    ftl: dict[str, Any] | None
    workload: WorkloadConfig
    seed: int
    host_pages: int
    warmup: int
    preconditioning_seed: int

    def simulator(self, policy: str, *, cache: bool) -> Simulator:
        """Return a device in its steady state, which is kept for others if `cache` is true."""
        # A device is restored as a whole: records of latencies are short, and none are kept without time.
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
        """Return requests that write at least `host_pages`, array of REQUEST."""
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
    """What a run is worth beside that of the baseline; less is better.

    Attributes:
        metric: `ln(metric / metric of the baseline)`.
        cap: the same of the metric that should not be above the baseline's; 0 without one.
        pages: written by the run, relocated ones included.
    """

    metric: float
    cap: float
    pages: int

    def judged(self, cap_weight: float) -> float:
        """Return the metric's part, and what the cap adds where it is above 0."""
        return self.metric + cap_weight * max(self.cap, 0.0)


class Task:
    """A run whose requests are drawn and whose device is preconditioned once.

    Args:
        play: the run.
        policy: with the agent, whose weights are replaced between runs.
        baseline: that every run is compared with.
        metric: less is better.
        cap: a metric that should not be above the baseline's; None: none.
    """

    def __init__(self, play: Play, policy: str, baseline: str, metric: str, cap: str | None) -> None:
        self.play, self.metric, self.cap = play, metric, cap
        self._requests = play.requests(play.warmup + play.host_pages)
        metrics = self._run(play.simulator(baseline, cache=True))
        self.baseline = metric_of(metrics, metric, WHERE), metric_of(metrics, cap or metric, WHERE)
        # The agent's steady state is that of its first weights, which no name or file stands for.
        self._simulator = play.simulator(policy, cache=False)
        self._begin = self._simulator.snapshot()

    def run(self) -> dict[str, Any]:
        """Run the policy with the weights that its agent has now; return all metrics."""
        self._simulator.restore(self._begin)
        return self._run(self._simulator)

    def score(self) -> Score:
        """Run the policy with the weights that its agent has now; compare it with the baseline."""
        metrics = self.run()
        return Score(
            math.log(metric_of(metrics, self.metric, WHERE) / self.baseline[0]),
            0.0 if self.cap is None else math.log(metric_of(metrics, self.cap, WHERE) / self.baseline[1]),
            int(metrics["host_pages_written"] + metrics["relocated_pages"]),
        )

    def _run(self, simulator: Simulator) -> dict[str, Any]:
        return simulator.run(iter([self._requests]), host_pages=self.play.host_pages, warmup=self.play.warmup)
