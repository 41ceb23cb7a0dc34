"""Numbers of a leaderboard, had again from nothing but the suite and what the leaderboard says was run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ssdgym.experiments.leaderboard.board import SuiteBoard
from ssdgym.experiments.leaderboard.suites import SuiteConfig
from ssdgym.experiments.runs.config import expand
from ssdgym.experiments.runs.run import play_agent, run_policy
from ssdgym.experiments.runs.spec import RunSpec, ftl_label


def regenerated(
    board: SuiteBoard, suite: SuiteConfig, count: int, members: int | None = None
) -> Iterator[tuple[float, float]]:
    """Run a sample again; yield what the leaderboard says and what was measured.

    Policies that have learned come first, `members` of a row at most; the tasks and seeds are drawn at
    random, always the same.
    """
    runs = _runs(board, suite)
    rows = sorted(board.rows, key=lambda row: row.kind != "learned")
    rng = np.random.default_rng(0)
    for row in rows[:count]:
        task = board.tasks[rng.integers(len(board.tasks))]
        seed = int(rng.integers(len(board.seeds)))
        for policy in row.policies[:members]:
            run = runs[task.workload, task.device, task.ftl, policy, board.seeds[seed]]
            found = run_policy(run) if run.agent is None else play_agent([run])[0]
            metric = (policy in board.ceilings and board.ceiling_metric) or board.metric
            yield task.values[policy][seed], found.metric(metric)


def _runs(board: SuiteBoard, suite: SuiteConfig) -> dict[tuple[str, str, str, str, int], RunSpec]:
    changes = {"seeds": list(board.seeds), "host_pages": board.host_pages, "warmup": board.warmup}
    shown = [policy for row in board.rows for policy in row.policies]
    players = {*suite.rules, *(agent for entry in suite.agents for agent in entry.agents)}
    played = {
        "policies": tuple(one for one in shown if one not in players),
        "agents": tuple(one for one in shown if one in players),
    }
    experiment = suite.experiment(board.splits, played, changes)
    return {
        (run.workload_name, run.device_name, ftl_label(run.ftl), run.policy, run.seed): run
        for run in expand(experiment)
    }
