"""The demonstration compares like with like, and shows what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ssdgym.agents.training.config import TrainConfig
from ssdgym.cli import WRONG_INPUT
from ssdgym.cli.demo import LEARNED, WATCHED, watch
from ssdgym.config.loading import load_config
from ssdgym.experiments.runs.config import expand, load_experiment
from ssdgym.experiments.runs.evaluate import check_runs


def test_experiment__has_the_learner_and_can_be_run() -> None:
    config = load_experiment("demo")
    assert LEARNED in config.policies and set(WATCHED.values()) <= set(config.policies)
    check_runs(expand(config))


def test_experiment_of_the_agent__is_on_the_device_and_workload_of_its_training() -> None:
    config, training = load_experiment("demo-ppo"), load_config(TrainConfig, "ppo-scratch", "training")
    assert config.devices == (training.environment.kwargs["device"],)
    assert config.workloads == (training.environment.kwargs["workload"],)
    assert config.ftls == (training.environment.kwargs["ftl"],)


def test_watch__every_window_of_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    curves = watch(windows=2)
    assert set(curves) == set(WATCHED)
    assert all(len(curve) == 4 and min(curve) >= 1 for curve in curves.values())
    assert "4,096 host pages, zipf99, write amplification: greedy " in capsys.readouterr().err


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
