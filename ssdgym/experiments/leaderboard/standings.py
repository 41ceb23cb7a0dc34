"""Compute the scores of `ssdgym.experiments.leaderboard.board` from results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdgym.experiments.leaderboard.board import (
    ROOM,
    Entry,
    Interval,
    Row,
    SuiteBoard,
    Task,
    entries_of,
)
from ssdgym.experiments.leaderboard.suites import Split, SuiteConfig
from ssdgym.experiments.report.comparison import WRITE_AMPLIFICATION, score_matrix, tasks_of
from ssdgym.experiments.results import Result, listed
from ssdgym.experiments.statistics import Scores, geometric_mean_ratio, iqm, pooled_bootstrap

#: The values of one metric by policy, each array of shape `(runs, tasks)`.
Values = dict[str, Scores]


def suite_board(
    name: str,
    suite: SuiteConfig,
    splits: Sequence[Split],
    results: Sequence[Result],
    run_pages: tuple[int, int],
    named: Sequence[Entry] = (),
) -> SuiteBoard:
    """Return the leaderboard of a suite's own entries and the additional entries `named`.

    `results` must contain every policy on every task and seed. `run_pages` are the measured host pages and
    the warm-up pages of a run. The best fixed pair is one of the suite's `baseline` and `policies`.
    """
    entries = entries_of(suite, named)
    values = _values(results, entries, suite.metric, suite.ceiling_metric or suite.metric)
    pairs = dict.fromkeys((suite.baseline, *suite.policies))
    fixed = min(pairs, key=lambda policy: float(np.log(values[policy]).mean()))
    rows = _rows(suite, entries, results, values, fixed)
    rows.sort(key=lambda row: (-row.score.value if row.score else 0.0, row.ratio.value))
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
        fixed=fixed,
        ceilings=suite.ceilings,
        rivals=suite.rivals,
        rows=tuple(rows),
        tasks=tuple(
            Task(
                workload=workload,
                device=device,
                ftl=ftl,
                values={policy: tuple(runs[:, number].tolist()) for policy, runs in values.items()},
            )
            for number, (device, ftl, workload) in enumerate(tasks_of(results))
        ),
    )


def _values(results: Sequence[Result], entries: Sequence[Entry], metric: str, of_bounds: str) -> Values:
    """Return the values by policy: of the metric `of_bounds` for bounds, of `metric` for other entries."""
    return {
        policy: score_matrix(results, policy, of_bounds if entry.kind == "bound" else metric)
        for entry in entries
        for policy in entry.policies
    }


def _rows(
    suite: SuiteConfig, entries: Sequence[Entry], results: Sequence[Result], values: Values, fixed: str
) -> list[Row]:
    """Return a row for each entry, in the same order."""
    workloads = [workload for _, _, workload in tasks_of(results)]
    zero = values[fixed].mean(axis=0)
    one = np.min([values[policy].mean(axis=0) for policy in suite.ceilings or (fixed,)], axis=0)
    has_room = one < (1 - ROOM) * zero
    rivals = _best_on_each(values, suite.rivals) if suite.rivals else None
    amplification = None
    if suite.metric != WRITE_AMPLIFICATION and all(one.measured(WRITE_AMPLIFICATION) for one in results):
        amplification = _values(results, entries, WRITE_AMPLIFICATION, WRITE_AMPLIFICATION)

    def mean_ratio(cube: Scores, other: Scores) -> Interval:
        return Interval.of(geometric_mean_ratio(cube / other, workloads))

    rows = []
    for entry in entries:
        cube = _cube(values, entry)
        score = (zero - cube)[..., has_room] / (zero - one)[has_room]
        rows.append(
            Row(
                name=entry.name,
                kind=entry.kind,
                policies=entry.policies,
                score=Interval.of(pooled_bootstrap(score, iqm)) if has_room.any() else None,
                ratio=mean_ratio(cube, values[fixed]),
                rivals=None if rivals is None else mean_ratio(cube, rivals),
                amplification=None
                if amplification is None
                else mean_ratio(_cube(amplification, entry), amplification[fixed]),
                worst=float(np.exp(np.log(cube / values[fixed]).mean(axis=(0, 1))).max()),
            )
        )
    return rows


def _cube(values: Values, entry: Entry) -> Scores:
    """Return the values of an entry, shape `(members, runs, tasks)`."""
    return np.stack([values[policy] for policy in entry.policies])


def _best_on_each(values: Values, policies: Sequence[str]) -> Scores:
    """Return, for each task, the runs of the policy with the smallest mean on it, shape `(runs, tasks)`."""
    every = np.stack([values[policy] for policy in policies])
    best = every.mean(axis=1).argmin(axis=0)
    return every[best, :, np.arange(every.shape[2])].T
