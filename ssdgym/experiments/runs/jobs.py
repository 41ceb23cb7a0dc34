"""Jobs: runs that are carried out together, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.run_spec import RunSpec

#: Each the runs that are carried out together.
Jobs = Sequence[list[RunSpec]]


@dataclass(frozen=True)
class Outcome:
    """What came of a job: the results of its runs in order, or an error."""

    job: int
    results: Sequence[Result] = ()
    error: Exception | None = None


def jobs_of(runs: Sequence[RunSpec]) -> list[list[int]]:
    """Return the indices of the runs that go together: those of one agent that differ only in the seed.

    A network decides for a whole batch in about the time it takes for one, so an agent plays all its seeds
    in one vector environment; a compiled policy gains nothing from company.
    """
    groups: dict[Any, list[int]] = {}
    for index, run in enumerate(runs):
        together = (
            *map(repr, (run.device, run.workload, run.environment)),
            *(run.ftl, run.agent, run.host_pages, run.warmup),
        )
        groups.setdefault(together if run.agent else index, []).append(index)
    return list(groups.values())


def run_job(runs: Sequence[RunSpec]) -> list[Result]:
    """Carry out the runs of one job, in this process."""
    if runs[0].agent is None:
        return [run_policy(run) for run in runs]
    from ssdgym.experiments.runs.play import play_agent

    return play_agent(runs)
