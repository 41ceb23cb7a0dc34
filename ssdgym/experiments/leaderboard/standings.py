"""Where every entry of a suite stands: between the best fixed pair, 0, and the best bound, 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssdgym.experiments.leaderboard.board import (
    LEARNED,
    Entry,
    Interval,
    Loss,
    Row,
    SuiteBoard,
    TaskBoard,
    TaskRatio,
    entries_of,
)
from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig
from ssdgym.experiments.report.comparison import WRITE_AMPLIFICATION, Task, score_matrix, tasks_of
from ssdgym.experiments.results import Result, listed
from ssdgym.experiments.statistics import (
    Scores,
    geometric_mean_ratio,
    iqm,
    mean_win_rate,
    pooled_bootstrap,
)


def suite_board(
    name: str,
    suite: SuiteConfig,
    splits: Sequence[Split],
    results: Sequence[Result],
    run_pages: tuple[int, int],
    named: Sequence[Entry] = (),
) -> SuiteBoard:
    """Rank the entries of a suite, and named ones, none of which is taken for the best fixed pair.

    Results are of every policy on every task and seed; `run_pages` are those measured in a run, and those
    before.
    """
    entries = entries_of(suite, named)
    measured = _Measured.of(results, entries, suite.metric, suite.ceiling_metric)
    standing = _Standings(suite, entries, measured, _amplification(results, entries, suite.metric))
    return SuiteBoard(
        suite=name,
        description=suite.description,
        version=listed(result.version for result in results) or "unknown",
        engine_hash=listed(result.engine_hash for result in results) or "unknown",
        metric=suite.metric,
        ceiling_metric=suite.ceiling_metric,
        splits=tuple(splits),
        seeds=tuple(sorted({result.seed for result in results})),
        host_pages=run_pages[0],
        warmup=run_pages[1],
        fixed=standing.fixed,
        ceilings=suite.ceilings,
        rivals=suite.rivals,
        rows=tuple(standing.rows()),
        losses=tuple(standing.losses()),
        tasks=tuple(standing.tasks()),
    )


#: A task has a score where the bound is below the best fixed pair by this share; less is lost in noise.
ROOM = 0.01


@dataclass(frozen=True)
class _Measured:
    """One metric of all policies, by policy, shape `(runs, tasks)`."""

    tasks: list[Task]
    values: dict[str, Scores]

    @classmethod
    def of(
        cls, results: Sequence[Result], entries: Sequence[Entry], metric: str, of_bounds: str | None = None
    ) -> _Measured:
        """Take a metric of the entries, and another one of bounds where that is given."""
        metrics = {
            policy: of_bounds or metric if entry.kind == "bound" else metric
            for entry in entries
            for policy in entry.policies
        }
        return cls(tasks_of(results), {name: score_matrix(results, name, metrics[name]) for name in metrics})

    @property
    def workloads(self) -> list[str]:
        return [workload for _, _, workload in self.tasks]

    def cube(self, entry: Entry) -> Scores:
        """Return the metric of an entry, shape `(members, runs, tasks)`."""
        return np.stack([self.values[policy] for policy in entry.policies])

    def means(self, policies: Sequence[str]) -> Scores:
        """Return the mean of each policy over the runs, shape `(policies, tasks)`."""
        return np.stack([self.values[policy].mean(axis=0) for policy in policies])

    def best_on_each(self, policies: Sequence[str]) -> Scores:
        """Return the runs of that policy which has the least mean on each task, shape `(runs, tasks)`."""
        best = self.means(policies).argmin(axis=0)
        every = np.stack([self.values[policy] for policy in policies])
        return every[best, :, np.arange(len(self.tasks))].T


def _amplification(results: Sequence[Result], entries: Sequence[Entry], metric: str) -> _Measured | None:
    """Return write amplification, where another metric is scored and every run has it."""
    if metric == WRITE_AMPLIFICATION or not all(result.measured(WRITE_AMPLIFICATION) for result in results):
        return None
    return _Measured.of(results, entries, WRITE_AMPLIFICATION)


@dataclass(frozen=True)
class _Standings:
    suite: SuiteConfig
    entries: Sequence[Entry]
    measured: _Measured
    amplification: _Measured | None

    @cached_property
    def fixed(self) -> str:
        """The policy with the least geometric mean over the tasks; neither a learned one nor a bound."""
        fixed = dict.fromkeys((self.suite.baseline, *self.suite.policies))
        return min(fixed, key=lambda policy: float(np.log(self.measured.values[policy]).mean()))

    @cached_property
    def _ours(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind != "bound"]

    @cached_property
    def _means(self) -> Scores:
        """The mean of every entry but the bounds over members and runs, shape `(entries, tasks)`."""
        return np.stack([self.measured.cube(entry).mean(axis=(0, 1)) for entry in self._ours])

    @cached_property
    def _scale(self) -> tuple[Scores, Scores]:
        """What scores 0 on each task, and what scores 1, each of shape `(tasks,)`."""
        zero = self.measured.values[self.fixed].mean(axis=0)
        if not self.suite.ceilings:
            return zero, zero
        return zero, self.measured.means(self.suite.ceilings).min(axis=0)

    @cached_property
    def _has_room(self) -> NDArray[np.bool_]:
        zero, one = self._scale
        return one < (1 - ROOM) * zero

    def rows(self) -> list[Row]:
        """Return a row for each entry, by falling score; without scores by rising ratio."""
        rows = [self._row(entry) for entry in self.entries]
        rows.sort(key=lambda row: (-row.score.value if row.score else 0.0, row.ratio.value))
        ranked = [row.name for row in rows if row.kind != "bound"]
        return [
            row.model_copy(update={"rank": None if row.kind == "bound" else ranked.index(row.name) + 1})
            for row in rows
        ]

    def _row(self, entry: Entry) -> Row:
        cube, pair = self.measured.cube(entry), self.measured.values[self.fixed]
        worst = max(self._ratios(entry), key=lambda task: task.ratio)
        return Row(
            rank=None,
            name=entry.name,
            kind=entry.kind,
            source=entry.source,
            policies=entry.policies,
            score=self._score(cube),
            ratio=self._mean_ratio(cube, pair),
            rivals=self._against_rivals(cube),
            amplification=self._amplification_ratio(entry),
            worst=worst,
            improvement=Interval.of(
                pooled_bootstrap([cube, pair[np.newaxis]], lambda own, other: mean_win_rate(-own, -other))
            ),
            won=self._won(entry),
            size=entry.size,
        )

    def _score(self, cube: Scores) -> Interval | None:
        if not self._has_room.any():
            return None
        zero, one = (ends[self._has_room] for ends in self._scale)
        return Interval.of(pooled_bootstrap([(zero - cube[..., self._has_room]) / (zero - one)], iqm))

    def _mean_ratio(self, cube: Scores, other: Scores) -> Interval:
        return Interval.of(geometric_mean_ratio(cube / other, self.measured.workloads))

    def _against_rivals(self, cube: Scores) -> Interval | None:
        if not self.suite.rivals:
            return None
        return self._mean_ratio(cube, self.measured.best_on_each(self.suite.rivals))

    def _amplification_ratio(self, entry: Entry) -> Interval | None:
        if self.amplification is None:
            return None
        return self._mean_ratio(self.amplification.cube(entry), self.amplification.values[self.fixed])

    def _won(self, entry: Entry) -> int:
        if entry.kind == "bound":
            return 0
        return int((self._means.argmin(axis=0) == self._ours.index(entry)).sum())

    def _ratios(self, entry: Entry) -> list[TaskRatio]:
        ratios = self.measured.cube(entry) / self.measured.values[self.fixed]
        means, worse = np.exp(np.log(ratios).mean(axis=(0, 1))), (ratios > 1).sum(axis=(0, 1))
        runs = ratios.shape[0] * ratios.shape[1]
        return [
            TaskRatio(
                workload=workload, device=device, ftl=ftl, ratio=float(mean), worse=int(count), runs=runs
            )
            for (device, ftl, workload), mean, count in zip(self.measured.tasks, means, worse, strict=True)
        ]

    def losses(self) -> list[Loss]:
        """Return the tasks on which a learned policy is worse than the best fixed pair, worst first."""
        losses = [
            Loss(name=entry.name, **task.model_dump())
            for entry in self.entries
            if entry.kind in LEARNED
            for task in self._ratios(entry)
            if task.ratio > 1
        ]
        return sorted(losses, key=lambda loss: -loss.ratio)

    def tasks(self) -> list[TaskBoard]:
        """Return every task with all that was measured."""
        zero, one = self._scale
        best = self._means.argmin(axis=0)
        return [
            TaskBoard(
                workload=workload,
                device=device,
                ftl=ftl,
                scored=bool(self._has_room[i]),
                fixed=float(zero[i]),
                bound=float(one[i]),
                best=self._ours[best[i]].name,
                best_value=float(self._means[best[i], i]),
                values={policy: tuple(runs[:, i].tolist()) for policy, runs in self.measured.values.items()},
            )
            for i, (device, ftl, workload) in enumerate(self.measured.tasks)
        ]
