"""A trial goes on where it was left, reports what it has found before, and is not repeated once finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.grid import Grid, run_grid
from ssdgym.experiments.runs.store import STORE_NAME, Store
from ssdgym.experiments.tuning.config import load_sweep
from ssdgym.experiments.tuning.measuring import HELD_OUT, TrialReport, last_report, run_trial
from ssdgym.experiments.tuning.trials import Trial, plan_trials

METRIC = "write_amplification"


class Killed(Exception):
    """Ends a trial where it reports."""


def policy_trial_of(seeds: int) -> Trial:
    sweep = load_sweep(
        {
            "base": {"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
            "space": {"ftl.gc.free_blocks": {"grid": [3]}},
            "evaluation": {"workloads": ["zipf99", "hot90"], "seeds": seeds, "host_pages": 500},
        }
    )
    return plan_trials(sweep)[0]


@pytest.fixture
def policy_trial() -> Trial:
    return policy_trial_of(seeds=3)


@pytest.fixture
def agent_trial() -> Trial:
    changes: dict[str, Any] = {
        "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
        "n_envs": 2,
        "total_decisions": 192,
        "checkpoint_decisions": 64,
        "ppo.rollout_steps": 32,
        "ppo.batch_decisions": 32,
        "evaluation.episodes": 1,
    }
    sweep = load_sweep(
        {
            "base": {"kind": "agent", "agent": "ppo-smoke", "changes": changes},
            "space": {"ppo.learning_rate": {"grid": [0.01]}},
            "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
        }
    )
    return plan_trials(sweep)[0]


def reports_of(trial: Trial, folder: Path, killed_after: int | None = None) -> list[TrialReport]:
    """Run the trial, or kill it at a report; the reports that it made."""
    reports: list[TrialReport] = []

    def listen(report: TrialReport) -> None:
        reports.append(report)
        if len(reports) == killed_after:
            raise Killed

    if killed_after is None:
        run_trial(trial, METRIC, folder, listen)
    else:
        with pytest.raises(Killed):
            run_trial(trial, METRIC, folder, listen)
    return reports


def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ssdgym.experiments.runs.evaluate.run_job", lambda runs: pytest.fail("a run was repeated")
    )


def test_policy_trial__reports_after_every_seed(policy_trial: Trial, tmp_path: Path) -> None:
    reports = reports_of(policy_trial, tmp_path)
    assert [report.percent for report in reports] == [33, 66, 100]
    assert reports[-1].low <= reports[-1].metric <= reports[-1].high
    assert [len(report.results) for report in reports] == [2, 4, 6]


def test_policy_trial__killed_and_run_again__equals_one_that_was_not(
    policy_trial: Trial, tmp_path: Path
) -> None:
    whole = reports_of(policy_trial, tmp_path / "whole")
    reports_of(policy_trial, tmp_path / "killed", killed_after=1)
    assert reports_of(policy_trial, tmp_path / "killed") == whole


@pytest.mark.parametrize("kind", ["policy_trial", "agent_trial"])
def test_finished_trial__is_told_again_and_not_run_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = request.getfixturevalue(kind)
    percents = [report.percent for report in reports_of(trial, tmp_path)]
    never_run(monkeypatch)
    monkeypatch.setattr(
        "ssdgym.agents.training.train.train", lambda *_, **__: pytest.fail("it was trained again")
    )
    assert [report.percent for report in reports_of(trial, tmp_path)] == percents


def test_agent_trial__killed_and_run_again__equals_one_that_was_not(
    agent_trial: Trial, tmp_path: Path
) -> None:
    whole = reports_of(agent_trial, tmp_path / "whole")
    assert [report.percent for report in whole] == [33, 66, 100]
    reports_of(agent_trial, tmp_path / "killed", killed_after=2)
    assert reports_of(agent_trial, tmp_path / "killed") == whole
    evaluations = [(tmp_path / name / "evaluations.csv").read_bytes() for name in ("whole", "killed")]
    assert evaluations[0] == evaluations[1]


def test_agent_trial__is_measured_by_the_file_that_it_keeps(agent_trial: Trial, tmp_path: Path) -> None:
    from ssdgym.agents.agent import Agent

    reports = reports_of(agent_trial, tmp_path)
    report = last_report(agent_trial, METRIC, tmp_path)
    assert report == reports[-1]
    assert sorted((tmp_path / "evaluated").iterdir()) == [one.agent for one in reports]
    for one in reports:
        assert f"-{Agent.load(one.agent).card.decisions}.zip" in one.agent.name
    assert {result.policy for result in report.results} == {"trial 0 (ppo.learning_rate=0.01)"}
    assert {result.seed for result in report.results} == {2**32, 2**32 + 1}


def test_trial__metric_without_observations__fails(policy_trial: Trial, tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="read_latency_ns/p99 was not measured on zipf99"):
        run_trial(policy_trial, "read_latency_ns/p99", tmp_path, lambda report: None)


def test_single_seed__is_reported_without_an_interval(tmp_path: Path) -> None:
    trial = policy_trial_of(seeds=1)
    (report,) = reports_of(trial, tmp_path)
    assert report.percent == 100
    assert report.low != report.low  # NaN: a single run has no interval


def test_last_report__is_that_of_the_last_stage_that_is_finished(
    policy_trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert last_report(policy_trial, METRIC, tmp_path) is None
    *_, told = reports_of(policy_trial, tmp_path, killed_after=2)
    never_run(monkeypatch)
    assert last_report(policy_trial, METRIC, tmp_path) == told


def test_store__is_that_of_a_grid(policy_trial: Trial, tmp_path: Path) -> None:
    """The runs of a trial are found by a grid of the same runs, and are not run again."""
    (*_, report) = reports_of(policy_trial, tmp_path)
    grid = Grid.of(policy_trial.runs)
    with Store(tmp_path / HELD_OUT) as store:
        assert len(store.finished(grid.keys)) == len(grid.runs)
        again = run_grid(grid, store, lambda jobs: pytest.fail("a run was repeated"))
    assert again.results == list(report.results)


def test_store__damaged__is_one_sentence(policy_trial: Trial, tmp_path: Path) -> None:
    reports_of(policy_trial, tmp_path)
    (tmp_path / HELD_OUT / STORE_NAME).write_bytes(b"no database")
    for read in (reports_of, lambda trial, folder: last_report(trial, METRIC, folder)):
        with pytest.raises(SsdgymError, match=rf"{STORE_NAME}: is damaged"):
            read(policy_trial, tmp_path)
