"""A trial goes on where it was left, reports what it has found before, and is not repeated once finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.config.sweep import load_sweep
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import Result
from ssdgym.experiments.tuning.plan import Trial, plan_trial
from ssdgym.experiments.tuning.trial import Record, Report, run_trial

METRIC = "write_amplification"


class Killed(Exception):
    """Ends a trial where it reports."""


@pytest.fixture
def policy_trial() -> Trial:
    sweep = load_sweep(
        {
            "base": {"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
            "space": {"ftl.gc.free_blocks": {"grid": [3]}},
            "evaluation": {"workloads": ["zipf99", "hot90"], "seeds": 3, "host_pages": 500},
        }
    )
    return plan_trial(sweep, 0)


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
    return plan_trial(sweep, 0)


def reports_of(trial: Trial, folder: Path, killed_after: int | None = None) -> list[Report]:
    """Run the trial, or kill it at a report; the reports that it made."""
    reports: list[Report] = []

    def listen(report: Report) -> None:
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
        "ssdgym.experiments.tuning.trial.run_job", lambda runs: pytest.fail("a run was repeated")
    )


def test_policy_trial__reports_after_every_seed(policy_trial: Trial, tmp_path: Path) -> None:
    reports = reports_of(policy_trial, tmp_path)
    assert [report.percent for report in reports] == [33, 66, 100]
    assert reports[-1].low <= reports[-1].metric <= reports[-1].high
    assert len(Record.load(tmp_path).results) == 2 * 3


def test_policy_trial__killed_and_run_again__equals_one_that_was_not(
    policy_trial: Trial, tmp_path: Path
) -> None:
    whole = reports_of(policy_trial, tmp_path / "whole")
    reports_of(policy_trial, tmp_path / "killed", killed_after=1)
    assert reports_of(policy_trial, tmp_path / "killed")[1:] == whole[1:]
    assert Record.load(tmp_path / "killed").results == Record.load(tmp_path / "whole").results


@pytest.mark.parametrize("kind", ["policy_trial", "agent_trial"])
def test_finished_trial__is_told_again_and_not_run_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = request.getfixturevalue(kind)
    percents = [report.percent for report in reports_of(trial, tmp_path)]
    never_run(monkeypatch)
    monkeypatch.setattr("ssdgym.agents.train.train", lambda *_, **__: pytest.fail("it was trained again"))
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

    reports_of(agent_trial, tmp_path)
    record = Record.load(tmp_path)
    assert Agent.load(tmp_path / "evaluated.zip").card.decisions == record.decisions
    assert {result.policy for result in record.results} == {"trial 0 (ppo.learning_rate=0.01)"}
    assert {result.seed for result in record.results} == {2**32, 2**32 + 1}


def test_trial__metric_without_observations__fails(policy_trial: Trial, tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="read_latency_ns/p99 was not measured on zipf99"):
        run_trial(policy_trial, "read_latency_ns/p99", tmp_path, lambda report: None)


def test_record__keeps_reports_without_an_interval(tmp_path: Path) -> None:
    record = Record.load(tmp_path)
    one = Result("tiny", "", "zipf99", "greedy", 1, metrics={METRIC: 2.0})
    assert record.add(50, METRIC, [one]).metric == 2.0
    again = Record.load(tmp_path)
    assert again.percent == 50 and again.results == [one]
    assert again.reports[0].low != again.reports[0].low  # NaN: a single run has no interval


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"reports": [{"percent": 1}], "results": []}'])
def test_record__damaged__is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "trial.json").write_text(text)
    with pytest.raises(SsdgymError, match=r"trial.json: not the record of a trial, or a damaged one"):
        Record.load(tmp_path)
