"""Leaderboards on the command line: everything of a small suite, an agent among it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ssdgym
from ssdgym.engine.compiler.cache import engine_hash
from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.suites import load_suite
from tests.agents.rules.agents import saved_agent
from tests.cli.conftest import Run
from tests.experiments.leaderboard.regenerated import regenerated

SUITE = """
devices:
  - base: tiny
    name: roomy
    geometry.blocks_per_plane: 96
ftls: [{{timing: none}}]
splits:
  training: [uniform]
  test: [zipf99, hot90]
baseline: cost_benefit+sep_gc
ceilings: [future_benefit+oracle_k]
policies: [greedy+sep_gc, cost_benefit+sepbit]
rivals: [cost_benefit+sepbit]
agents:
  - name: ours
    policies: ["{}+sepbit", "{}+sepbit"]
seeds: 1-2
host_pages: 2000
warmup: 2000
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SUITE.format(*(saved_agent(tmp_path, "victims", seed) for seed in (0, 1))))
    return path


def test_leaderboard__tables_files_and_numbers_that_can_be_had_again(
    suite: Path, tmp_path: Path, run: Run, printed: Callable[..., Any]
) -> None:
    out = tmp_path / "out"
    command = ["leaderboard", str(suite), "--out", str(out), "--workers", "1"]
    text = run(command).out
    assert "small: standings" in text and "ours" in text and str(out / "leaderboard.md") in text
    board = read_board(out / "leaderboard.json")

    (found,) = board.suites
    assert (found.version, found.engine_hash) == (ssdgym.__version__, engine_hash())
    ours = next(row for row in found.rows if row.name == "ours")
    assert ours.kind == "learned" and len(ours.policies) == 2
    assert {len(values) for task in found.tasks for values in task.values.values()} == {2}
    for said, measured in regenerated(found, load_suite(suite), count=4):
        assert said == measured

    # Runs are kept, so the same command says the same.
    assert printed(*command) == board.model_dump(mode="json")


def test_leaderboard__other_seeds_on_another_split(
    suite: Path, tmp_path: Path, printed: Callable[..., Any]
) -> None:
    options = ["--split", "training", "--seeds", "7", "--workers", "1"]
    (found,) = printed("leaderboard", suite, *options, "--out", tmp_path / "out")["suites"]
    assert (found["seeds"], found["splits"]) == ([7], ["training"])
    assert {task["workload"] for task in found["tasks"]} == {"uniform"}


def test_leaderboard__named_policy_and_agent__ranked_alone_from_the_baseline_on(
    suite: Path, tmp_path: Path, printed: Callable[..., Any]
) -> None:
    options = ["--policy", "greedy+dac", "--agent", "random_action", "--seeds", "1", "--workers", "1"]
    (found,) = printed("leaderboard", suite, *options, "--out", tmp_path / "out")["suites"]
    rows = {row["name"]: row for row in found["rows"]}
    assert {name: row["kind"] for name, row in rows.items()} == {
        "cost_benefit+sep_gc": "classic",
        "greedy+dac": "paper",
        "random_action": "classic",
        "future_benefit+oracle_k": "bound",
    }
    score = rows[found["fixed"]]["score"]
    assert found["fixed"] == "cost_benefit+sep_gc" and score["value"] == pytest.approx(0, abs=1e-9)
    assert score["low"] is None  # a single seed has no interval
