"""Sweeps that Ray runs: Optuna and ASHA choose, a killed one goes on."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssdgym.experiments.sweeps.config import load_sweep

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow  # every worker of Ray imports torch


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A local Ray for all tests of this module."""
    import ssdgym.experiments.sweeps.tuner  # noqa: F401  (sets what Ray reads as it is imported)

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    yield
    ray.shutdown()


CHANGES: dict[str, Any] = {
    "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
    "n_envs": 2,
    "total_decisions": 128,
    "checkpoint_decisions": 64,
    "ppo.rollout_steps": 32,
    "ppo.batch_decisions": 32,
    "evaluation.episodes": 1,
}


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_failed_trial__stops_no_other_and_is_tried_again_when_resumed(tmp_path: Path) -> None:
    from ssdgym.experiments.sweeps.tuner import run_sweep

    trace = tmp_path / "trace.csv"
    trace.write_text("no trace\n")
    (tmp_path / "trace.yaml").write_text(f"kind: trace\npath: {trace}\nformat: msr\n")
    sweep = load_sweep(
        {
            "trial": {"kind": "agent", "agent": "ppo-smoke", "changes": CHANGES},
            "space": {"environment.kwargs.workload": {"grid": ["zipf99", str(tmp_path / "trace.yaml")]}},
            "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
        }
    )
    out = tmp_path / "out"
    first = run_sweep(sweep, out)
    assert [trial.state for trial in first.trials] == ["finished", "failed"]
    assert "trace.csv: line 1" in first.trials[1].error
    trained = {path: path.stat().st_mtime_ns for path in (out / "agents").iterdir()}
    trace.write_text("".join(f"{128166372003061629 + i},a,0,Write,{4096 * i},4096,1\n" for i in range(64)))
    again = run_sweep(sweep, out, resume=True)
    assert [trial.state for trial in again.trials] == ["finished", "finished"]
    assert trained.items() <= {path: path.stat().st_mtime_ns for path in (out / "agents").iterdir()}.items()
    assert again.rows()[0] == first.rows()[0]


def test_optuna__one_trial_at_a_time__same_seed_same_trials_also_under_asha(tmp_path: Path) -> None:
    from ssdgym.experiments.sweeps.tuner import run_sweep

    pytest.importorskip("optuna")
    sweep = {
        "trial": {"kind": "policy", "policy": "greedy", "device": "tiny", "ftl": {"timing": "none"}},
        "space": {
            "ftl.gc.free_blocks": {"qrandint": [2, 4, 1]},
            "policy": {"choice": ["greedy", "fifo", "cost_benefit"]},
        },
        "evaluation": {"workloads": ["zipf99"], "seeds": 2, "host_pages": 500},
        "search": {"kind": "optuna", "startup_trials": 2},
        "trials": 5,
        "concurrent": 1,
    }
    asha = {**sweep, "scheduler": {"kind": "asha", "grace_percent": 100}}
    one, other = (
        run_sweep(load_sweep(source), tmp_path / name).rows()
        for name, source in (("fifo", sweep), ("asha", asha))
    )
    assert one == other
    assert [row["trial"] for row in one] == [0, 1, 2, 3, 4]
    assert len({(row["policy"], row["ftl.gc.free_blocks"]) for row in one}) > 1


def test_draws__same_seed_same_trials_other_seed_others(tmp_path: Path) -> None:
    from ssdgym.experiments.sweeps.tuner import run_sweep

    sweep = {
        "trial": {"kind": "policy", "policy": "cost_benefit", "device": "tiny", "ftl": {"timing": "none"}},
        "space": {"policy.exponent": {"loguniform": [0.1, 2]}},
        "evaluation": {"workloads": ["zipf99"], "seeds": 1, "host_pages": 100},
        "trials": 3,
    }
    one, same, other = (
        [
            trial.trial.parameters
            for trial in run_sweep(load_sweep({**sweep, "seed": seed}), tmp_path / name).trials
        ]
        for name, seed in (("one", 5), ("same", 5), ("other", 6))
    )
    assert one == same != other
