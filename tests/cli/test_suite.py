"""Suites on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ssdgym.cli import WRONG_INPUT, main

SUITE = """
devices:
  - base: tiny
    name: roomy
    geometry.blocks_per_plane: 96
ftls: [{timing: none}]
splits:
  training: [uniform]
  test: [zipf99]
baseline: cost_benefit(exponent=0.5, since_close=1)+sepbit
ceilings: [cost_benefit(since_close=1)+oracle_k, future_benefit+oracle_k]
policies: [greedy+sep_gc]
seeds: 1-2
host_pages: 3000
warmup: 3000
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SUITE)
    return path


def test_suite__its_policies__a_table_that_ranks_them(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["suite", str(suite), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "greedy+sep_gc" in printed and "zipf99" in printed and "roomy" in printed
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scores = {row["policy"]: row["score"]["value"] for row in found["standings"]}
    assert scores["cost_benefit(exponent=0.5, since_close=1)+sepbit"] == pytest.approx(0, abs=1e-9)
    assert max(scores, key=lambda policy: scores[policy]).endswith("+oracle_k")
    assert len(scores) == 4


def test_suite__one_agent_on_another_split(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "suite",
        str(suite),
        "--agent",
        "random_action",
        "--split",
        "training",
        "--json",
        "--workers",
        "1",
    ]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {task["task"][2] for task in found["tasks"]} == {"uniform"}
    assert "random_action" in {row["policy"] for row in found["standings"]}


def test_suite__what_has_learned__is_scored_with_the_rest(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.write_text(f"{SUITE}agents: [greedy+dac]\n")
    command = [
        "suite",
        str(suite),
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "1",
        "--seeds",
        "1",
        "--json",
    ]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    scores = {row["policy"]: row["score"] for row in found["standings"]}
    assert scores["greedy+dac"]["low"] is None  # a single seed has no interval


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nowhere"], "there is no suite named 'nowhere' in configs/suites"),
        (
            ["wa", "--split", "exam"],
            "--split exam is none of the suite's; choose training or validation or test",
        ),
    ],
)
def test_suite__wrong_input__one_sentence(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suite", *words]) == WRONG_INPUT
    assert expected in capsys.readouterr().err
