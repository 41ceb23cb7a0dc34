"""Sweeps that Ray runs: a population copies what is good, and Optuna comes to the same trials again."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssdgym.experiments.tuning.config import SweepConfig, load_sweep
from ssdgym.experiments.tuning.outcome import begin

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow  # every worker of Ray imports torch


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A local Ray for all tests of this module."""
    import ssdgym.experiments.tuning.ray_tune  # noqa: F401  (sets what Ray reads as it is imported)

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    yield
    ray.shutdown()


def population(**fields: Any) -> SweepConfig:
    changes: dict[str, Any] = {
        "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
        "n_envs": 2,
        "total_decisions": 128,
        "checkpoint_decisions": 64,
        "ppo.rollout_steps": 32,
        "ppo.batch_decisions": 32,
        "evaluation.episodes": 1,
    }
    return load_sweep(
        {
            "base": {"kind": "agent", "agent": "ppo-smoke", "changes": changes},
            "space": {
                "ppo.learning_rate": {"loguniform": [0.001, 0.5]},
                "ppo.gamma": {"choice": [0.9, 0.99]},
            },
            "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
            "scheduler": {"kind": "pbt", "quantile": 0.5},
            "trials": 2,
            **fields,
        }
    )


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_population__the_worse_copies_the_better_and_changes__also_when_resumed(
    tmp_path: Path,
) -> None:
    from ssdgym.experiments.tuning.ray_tune import SweepProgress, run_sweep

    lines: list[str] = []
    seen: list[SweepProgress] = []
    outcome = run_sweep(population(), tmp_path, watch=seen.append, say=lines.append)
    assert [trial.state for trial in outcome.trials] == ["finished"] * 2
    stages = {(row["trial"], row["stage"]): row for row in rows_in(tmp_path / "stages.csv")}
    assert len(stages) == 4
    (copy,) = (row for row in stages.values() if row["copied trial"])
    good = stages[copy["copied trial"], "1"]
    assert good["copied trial"] == "" and copy["stage"] == "2" and copy["trial"] != good["trial"]
    assert float(good["write_amplification"]) <= float(stages[copy["trial"], "1"]["write_amplification"])
    assert copy["ppo.learning_rate"] != good["ppo.learning_rate"]
    # it has the history of what it has copied, and has gone on from there
    histories = [
        rows_in(tmp_path / f"trials/{int(row['trial']):04}/stages/{int(row['stage']):04}/evaluations.csv")
        for row in (good, copy)
    ]
    assert histories[1][:-1] == histories[0] and len(histories[1]) == len(histories[0]) + 1
    # every trial is told of once when it begins and once when it ends, and they run at the same time
    assert f"trial {copy['trial']} copies trial {good['trial']} after stage 1" in "\n".join(lines)
    assert sorted(line.split(":")[0] for line in lines if "copies" not in line) == [
        f"trial {number} {what}" for number in (0, 1) for what in ("begins", "finished")
    ]
    assert any(progress.done == 0 and progress.running for progress in seen)
    assert seen[-1].done == seen[-1].trials == 2 and seen[-1].share == 2

    # resumed, it makes the same decisions, and trains nothing
    tables = [tmp_path / name for name in ("trials.csv", "stages.csv", "results.csv")]
    whole = [table.read_bytes() for table in tables]
    agents = {path: path.stat().st_mtime_ns for path in tmp_path.glob("trials/*/stages/*/agent-last.zip")}
    again: list[str] = []
    run_sweep(population(), tmp_path, resume=True, say=again.append)
    assert [table.read_bytes() for table in tables] == whole
    assert len(agents) == 4 and agents == {path: path.stat().st_mtime_ns for path in agents}
    assert [line for line in again if "copies" in line] == [line for line in lines if "copies" in line]


def test_population__member_that_fails__does_not_stop_the_others(tmp_path: Path) -> None:
    from ssdgym.experiments.tuning.ray_tune import run_sweep

    sweep = population(trials=3)
    begin(sweep, tmp_path)
    (tmp_path / "trials/0001").mkdir(parents=True)
    (tmp_path / "trials/0001/stages").write_text("in the way of the folder")
    outcome = run_sweep(sweep, tmp_path, resume=True)
    assert [trial.state for trial in outcome.trials] == ["finished", "failed", "finished"]
    assert "cannot be written" in outcome.trials[1].error
    assert sum(bool(row["copied trial"]) for row in rows_in(tmp_path / "stages.csv")) == 1


def test_optuna__same_seed_same_trials_also_where_asha_stops_none(tmp_path: Path) -> None:
    from ssdgym.experiments.tuning.ray_tune import run_sweep

    pytest.importorskip("optuna")
    sweep = {
        "base": {"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
        "space": {
            "ftl.gc.free_blocks": {"quniform": [2, 4, 1]},
            "policy": {"choice": ["greedy", "fifo", "cost_benefit"]},
        },
        "evaluation": {"workloads": ["zipf99"], "seeds": 2, "host_pages": 500},
        "search": {"kind": "optuna", "startup_trials": 2},
        "trials": 5,
        "concurrent": 2,
    }
    asha = {**sweep, "scheduler": {"kind": "asha", "grace_percent": 100}}
    one, other = (
        run_sweep(load_sweep(source), tmp_path / name).rows()
        for name, source in (("fifo", sweep), ("asha", asha))
    )
    assert one == other
    assert [row["trial"] for row in one] == [0, 1, 2, 3, 4]
    assert len({(row["policy"], row["ftl.gc.free_blocks"]) for row in one}) > 1
