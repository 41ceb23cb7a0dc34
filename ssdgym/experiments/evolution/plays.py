"""What an evolution plays: devices, requests and seeds, drawn from the splits of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssdgym.errors import SsdgymError
from ssdgym.experiments.evolution.config import EvolutionConfig
from ssdgym.experiments.runs.expand import closed_loop
from ssdgym.experiments.runs.run import PRECONDITIONING_SEED
from ssdgym.experiments.runs.run_spec import ftl_changes
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.experiments.suites.ranges import devices_of, draw_device
from ssdgym.experiments.suites.splits import training_workloads
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import Recording
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import load_workload, open_on

_CHUNK = 1 << 14
#: What errors begin with.
WHERE = "evolution"
_SEEDS = 2**31 - 1


@dataclass(frozen=True)
class Play:
    """A run without its policy.

    Attributes:
        device: fields.
        ftl: changes of its FTL.
        workload: as `load_workload` takes it.
        seed: of the device and the requests.
        host_pages: measured.
        warmup: before that.
    """

    device: Mapping[str, Any]
    ftl: Mapping[str, Any]
    workload: Any
    seed: int
    host_pages: int
    warmup: int

    @cached_property
    def _loaded(self) -> WorkloadConfig:
        return load_workload(self.workload)

    @cached_property
    def _ftl(self) -> Any:
        return ftl_changes(closed_loop(tuple(sorted(self.ftl.items())), self._loaded))

    def simulator(self, policy: str, *, cache: bool) -> Simulator:
        """Return a device in its steady state, as in the runs of a suite.

        Args:
            policy: that it runs.
            cache: whether the steady state is kept for others.
        """
        # A device is restored as a whole: records of latencies are short, and none are kept without time.
        timed = self.ftl.get("timing") != "none"
        simulator = Simulator(
            dict(self.device),
            ftl=self._ftl,
            policy=policy,
            seed=self.seed,
            recording=Recording(1 << 17, 1 << 10) if timed else Recording(0, 0),
        )
        simulator.precondition(self._loaded, seed=PRECONDITIONING_SEED, cache=cache)
        return simulator

    def requests(self, host_pages: int) -> np.ndarray:
        """Return requests that write so many host pages and some more, array of REQUEST.

        Args:
            host_pages: the number.

        Raises:
            SsdgymError: the workload does not write.
        """
        simulator = Simulator(dict(self.device), ftl=self._ftl, seed=self.seed)
        stream = open_on(self._loaded, simulator.device, self.seed)
        chunks, left = [], host_pages + _CHUNK
        while left > 0:
            chunk = stream.next(_CHUNK)
            if not len(chunk):
                break
            chunks.append(np.array(chunk))
            written = int(chunk["pages"][chunk["op"] == WRITE].sum())
            if not written:
                raise SsdgymError(
                    f"{WHERE}: workload {self._loaded.kind} writes nothing in {_CHUNK} requests; choose "
                    "another one."
                )
            left -= written
        return np.concatenate(chunks) if chunks else np.zeros(0, REQUEST)


def training_plays(config: EvolutionConfig, suite: SuiteConfig) -> list[list[Play]]:
    """Draw what members are judged by.

    Args:
        config: of the evolution.
        suite: its suite.

    Returns:
        The plays of each training workload.

    Raises:
        SsdgymError: a workload is of another split, or a device cannot be made so.
    """
    rng = np.random.default_rng([config.seed, 0x7A5C])
    workloads = training_workloads(suite, config.tasks.workloads, WHERE)
    plays: list[list[Play]] = [[] for _ in workloads]
    for number in range(config.tasks.count):
        which = number % len(workloads)
        device, ftl = draw_device(suite, config.tasks, rng)
        pages = Simulator(dict(device), ftl=ftl_changes(tuple(sorted(ftl.items())))).logical_pages
        play = Play(
            device,
            ftl,
            workloads[which],
            int(rng.integers(_SEEDS)),
            int(config.tasks.overwrites * pages),
            int(config.tasks.warmup_overwrites * pages),
        )
        plays[which].append(play)
    return plays


def validation_plays(config: EvolutionConfig, suite: SuiteConfig) -> list[Play]:
    """Return the runs of the suite's validation split, on its own devices.

    Args:
        config: of the evolution.
        suite: its suite.

    Raises:
        SsdgymError: a device cannot be made so.
    """
    given = config.validation
    return [
        Play(
            device,
            ftl,
            workload,
            seed,
            given.host_pages or suite.host_pages,
            suite.warmup if given.warmup is None else given.warmup,
        )
        for device, ftl in devices_of(suite)
        for workload in suite.splits["validation"]
        for seed in given.seeds
    ]
