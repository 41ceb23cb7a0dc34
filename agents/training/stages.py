"""Stages of a training run (methods, one after the other), and seeds of its segments between checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
from pydantic import Field

from ssdgym.config.loading import Config


def segment_seed(seed: int, decisions: int) -> int:
    """Return the 31-bit seed of generators and episodes in the segment that begins after `decisions`.

    The seed depends only on the arguments, so a run that is resumed from a checkpoint has the same results
    as an uninterrupted run.
    """
    return int(np.random.SeedSequence([seed, decisions]).generate_state(1)[0]) >> 1


Method = Literal["lifetimes", "evolution", "clone", "ppo", "cmaes"]

_NAMES = {
    "lifetimes": "fitting lifetimes",
    "evolution": "evolution",
    "clone": "cloning a policy",
    "ppo": "PPO",
    "cmaes": "CMA-ES",
}


class Stage(Config):
    """One stage of a training run, with its decisions and CPU time so far."""

    method: Method
    decisions: int = Field(0, ge=0, description="decisions; of evolution: pages that runs wrote")
    cpu_seconds: float = Field(0.0, ge=0, description="CPU time of the process, including validation")


class Stages:
    """The stages of a run, in order, with their CPU times; `done` are those of the checkpoint to resume."""

    def __init__(self, done: Sequence[Stage] = ()) -> None:
        self._done = {stage.method: stage for stage in done}
        self._running: Method | None = None
        self._begun = 0.0

    @property
    def taken(self) -> tuple[Stage, ...]:
        """The stages with at least one decision, with decisions and CPU time up to now."""
        self._take_time()
        return tuple(stage for stage in self._done.values() if stage.decisions)

    @property
    def decisions(self) -> int:
        """The decisions of all stages."""
        return sum(stage.decisions for stage in self._done.values())

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all stages so far."""
        self._take_time()
        return sum(stage.cpu_seconds for stage in self._done.values())

    @contextmanager
    def running(self, method: Method) -> Iterator[None]:
        """Count the CPU time of the `with` block for a stage."""
        self._running, self._begun = method, time.process_time()
        self._done.setdefault(method, Stage(method=method))
        try:
            yield
        finally:
            self._take_time()
            self._running = None

    def count(self, method: Method, decisions: int) -> None:
        """Set the number of decisions of a stage so far."""
        known = self._done.get(method, Stage(method=method))
        self._done[method] = known.model_copy(update={"decisions": decisions})

    def _take_time(self) -> None:
        if self._running is None:
            return
        now = time.process_time()
        stage = self._done[self._running]
        seconds = round(stage.cpu_seconds + now - self._begun, 3)
        self._done[self._running] = stage.model_copy(update={"cpu_seconds": seconds})
        self._begun = now


def how_trained(stages: Sequence[Stage], start: str) -> str:
    """Return how an agent was trained, such as `PPO (200,704 decisions, 31 CPU s), from scratch`."""
    begun = "from scratch" if start == "none" else f"from {start} on"
    if not stages:
        return "nothing: it is the untrained network" + (
            "" if start == "none" else f", which ranks as {start}"
        )
    parts = [
        f"{_NAMES[s.method]} ({s.decisions:,} {'pages of runs' if s.method == 'evolution' else 'decisions'}, "
        f"{s.cpu_seconds:,.0f} CPU s)"
        for s in stages
    ]
    return f"{', then '.join(parts)}, {begun}"
