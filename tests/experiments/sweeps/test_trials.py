"""A trial is measured at every seed or checkpoint, and goes on where it was left or where another one was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.errors import SsdgymError
from ssdgym.experiments.results import read_results
from ssdgym.experiments.sweeps.config import load_sweep
from ssdgym.experiments.sweeps.trials import RESULTS, Measurement, Trial, plan_trial, run_trial

METRIC = "write_amplification"


class Stopped(Exception):
    """Ends a trial where it reports, as Ray does."""


def policy_trial(seeds: int = 3) -> Trial:
    sweep = load_sweep(
        {
            "trial": {"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
            "space": {"ftl.gc.free_blocks": {"grid": [3]}},
            "evaluation": {"workloads": ["zipf99", "hot90"], "seeds": seeds, "host_pages": 500},
        }
    )
    return plan_trial(sweep, {"ftl.gc.free_blocks": 3})


def agent_trial(rate: float = 0.01) -> Trial:
    """A trial that trains."""
    changes: dict[str, Any] = {
        "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
        "n_envs": 2,
        "total_decisions": 192,
        "checkpoint_decisions": 64,
        "ppo.rollout_steps": 32,
        "ppo.batch_decisions": 32,
        "evaluation.episodes": 1,
    }
    name = "ppo.learning_rate"
    sweep = load_sweep(
        {
            "trial": {"kind": "agent", "agent": "ppo-smoke", "changes": changes},
            "space": {name: {"loguniform": [1e-12, 0.1]}},
            "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
            "trials": 2,
        }
    )
    return plan_trial(sweep, {name: rate})


def reports_of(trial: Trial, folder: Path, stopped_after: int | None = None) -> list[Measurement]:
    """Run a trial and return what it reports; stop it after so many reports."""
    reports: list[Measurement] = []

    def listen(found: Measurement) -> None:
        reports.append(found)
        if len(reports) == stopped_after:
            raise Stopped

    folder.mkdir(exist_ok=True, parents=True)
    if stopped_after is None:
        run_trial(trial, METRIC, folder, folder / "measured.zip", listen)
    else:
        with pytest.raises(Stopped):
            run_trial(trial, METRIC, folder, folder / "measured.zip", listen)
    return reports


def weights_in(folder: Path) -> dict[str, torch.Tensor]:
    return Agent.load(folder / "agent-last.zip").scorer.state_dict()


def test_policy__is_measured_after_every_seed(tmp_path: Path) -> None:
    reports = reports_of(policy_trial(), tmp_path)
    assert [report["percent"] for report in reports] == [33, 66, 100]
    assert reports[-1]["low"] <= reports[-1]["metric"] <= reports[-1]["high"]
    assert len(read_results(tmp_path / RESULTS)) == 6


@pytest.mark.parametrize("make", [policy_trial, agent_trial])
def test_stopped_and_run_again__equals_one_that_was_not(make: Any, tmp_path: Path) -> None:
    whole = reports_of(make(), tmp_path / "whole")
    assert [report["percent"] for report in whole] == [33, 66, 100]
    stopped = reports_of(make(), tmp_path / "stopped", stopped_after=1)
    assert stopped + reports_of(make(), tmp_path / "stopped") == whole
    results = [read_results(tmp_path / name / RESULTS) for name in ("whole", "stopped")]
    assert [one.metrics for one in results[0]] == [one.metrics for one in results[1]]


def test_agent__is_measured_by_the_file_that_is_kept(tmp_path: Path) -> None:
    *_, last = reports_of(agent_trial(), tmp_path)
    assert Agent.load(tmp_path / "measured.zip").card.decisions == last["decisions"]
    results = read_results(tmp_path / RESULTS)
    assert {result.policy for result in results} == {"ppo.learning_rate=0.01"}
    assert {result.seed for result in results} == {2**32, 2**32 + 1}


def test_metric_without_observations__fails(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="read_latency_ns/p99 was not measured on zipf99"):
        run_trial(policy_trial(), "read_latency_ns/p99", tmp_path, tmp_path / "agent.zip", lambda _: None)


def test_single_seed__is_reported_without_an_interval(tmp_path: Path) -> None:
    (report,) = reports_of(policy_trial(seeds=1), tmp_path)
    assert report["percent"] == 100
    assert report["low"] != report["low"]  # NaN: a single run has no interval
