"""The demonstration compares like with like, and shows what it says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from ssdgym.agents.training.config import TrainConfig
from ssdgym.cli import WRONG_INPUT
from ssdgym.cli.demo import HEURISTICS, LEARNED, Demo, draw, validation, watch
from ssdgym.config.loading import load_config
from ssdgym.experiments.runs.evaluate import check_runs


def test_runs__every_policy_meets_the_same_devices_workloads_and_seeds() -> None:
    runs = Demo().runs()
    met = {
        policy: {
            (run.device, run.workload, run.seed, run.ftl, run.host_pages, run.preconditioning)
            for run in runs
            if run.policy == policy
        }
        for policy in (LEARNED, *HEURISTICS)
    }
    assert len(runs) == len(met) * len(met[LEARNED]) == len(met) * len(Demo.workloads) * len(Demo.seeds)
    assert all(tasks == met[LEARNED] for tasks in met.values())


def test_runs__their_devices_workloads_and_policies_exist() -> None:
    check_runs(Demo().runs())


def test_watch_and_draw__every_window_of_every_policy(tmp_path: Path) -> None:
    plan = replace(Demo(), window=512, windows=4)
    curves = watch(plan, quiet=True)
    assert set(curves) == {name for name, _ in plan.watched}
    for curve in curves.values():
        assert [at for at, _ in curve] == [512 * k for k in range(1, 9)]
        assert all(amplification >= 1 for _, amplification in curve)
    assert draw(curves, {}, plan, tmp_path / "alone.png").stat().st_size > 5_000
    assert draw(curves, {"PPO": [(0, 5.0), (10, 4.0)]}, plan, tmp_path / "picture.png").stat().st_size > 5_000


def test_validation__heuristics_beside_what_the_training_noted(tmp_path: Path) -> None:
    config = load_config(TrainConfig, Demo.training, "training")
    short = {"horizon": 512, "warmup": 512}
    config = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"kwargs": short})})
    file = tmp_path / "evaluations.csv"
    file.write_text("stage,decisions,write_amplification\nuntrained,0,5.5\nppo,64,4.5\n")
    found = validation(config, file, workers=1)
    assert found["PPO"] == [(0, 5.5), (64, 4.5)]
    assert {at for curve in found.values() for at, _ in curve} == {0, 64}
    assert found["cost_benefit"] != found["greedy"] != found["random_action"]


def test_demo__without_torch__says_what_to_install_or_leave_out(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        f"from ssdgym.cli import main; sys.exit(main(['demo', '--out', {str(tmp_path / 'out')!r}]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == WRONG_INPUT and found.stdout == ""
    assert found.stderr == (
        "ssdgym: PPO (leave it out with --no-ppo) needs the package torch: install it with "
        "pip install 'ssdgym[agents]'\n"
    )
    assert not (tmp_path / "out").exists()
