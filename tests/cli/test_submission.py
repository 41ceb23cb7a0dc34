"""Submissions to the leaderboard: what is whole and can be had again goes into the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ssdgym.experiments.leaderboard.submission import BEGIN, END
from tests.cli.conftest import Run

SUITE = {
    "devices": [{"base": "tiny", "name": "roomy", "geometry.blocks_per_plane": 96}],
    "ftls": [{"timing": "none"}],
    "splits": {"test": ["zipf99", "hot90"]},
    "baseline": "cost_benefit+sep_gc",
    "ceilings": ["future_benefit+oracle_k"],
    "seeds": "1-2",
    "host_pages": 2000,
    "warmup": 2000,
}
ALL = ("--again", 4)


@pytest.fixture
def sent(tmp_path: Path, run: Run) -> Path:
    """A submission of greedy on a small suite."""
    suite = tmp_path / "small.yaml"
    suite.write_text(yaml.safe_dump(SUITE))
    words = ("--policy", "greedy+sep_gc", "--no-speed", "--workers", 1, "--out", tmp_path / "out")
    run(["leaderboard", suite, *words])
    path = tmp_path / "mine.yaml"
    fields = {"who": "Ada | Grace", "code": "https://example.org/lab", "suite": str(suite)}
    path.write_text(yaml.safe_dump({**fields, "policy": "greedy+sep_gc", "board": "out/leaderboard.json"}))
    return path


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit the suite's part of the leaderboard that a submission names."""
    file = path.parent / "out" / "leaderboard.json"
    board = json.loads(file.read_text())
    edit(board["suites"][0])
    file.write_text(json.dumps(board))


def test_submission__can_be_had_again__goes_into_the_table(
    sent: Path, tmp_path: Path, run: Run, printed: Callable[..., Any]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    printed_text = run(["submission", sent, *ALL, "--update", page]).out
    assert "4 of its runs, and those of the baseline, have the same numbers here" in printed_text
    (found,) = printed("submission", sent, *ALL)
    assert found["ratio"] <= found["worst"] and found["label"] == "greedy+sep_gc"
    row = page.read_text().splitlines()[4]
    assert row.startswith(f"| small | greedy+sep_gc | {found['ratio']:.3f} | {found['worst']:.3f} |")
    assert "Ada \\| Grace" in row and "https://example.org/lab" in row


def better(suite: dict[str, Any]) -> None:
    suite["tasks"][1]["values"]["greedy+sep_gc"][0] *= 0.999


def missing_run(suite: dict[str, Any]) -> None:
    suite["tasks"][1]["values"]["greedy+sep_gc"].pop()


def missing_task(suite: dict[str, Any]) -> None:
    suite["tasks"].pop()


def shorter(suite: dict[str, Any]) -> None:
    suite["host_pages"] = 1000


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (better, "greedy+sep_gc on hot90 (roomy), seed 1: says write_amplification"),
        (missing_run, "does not have a value of greedy+sep_gc for every task and seed"),
        (missing_task, "its tasks are not those of the suite"),
        (shorter, "host_pages is 1000, and the suite has 2000"),
    ],
)
def test_submission__other_numbers_or_not_all__is_refused(
    edit: Callable[[dict[str, Any]], None], said: str, sent: Path, refusal: Callable[..., str]
) -> None:
    change(sent, edit)
    assert said in refusal("submission", sent, *ALL)


def test_submission__of_policy_and_agent__is_refused(sent: Path, refusal: Callable[..., str]) -> None:
    fields = yaml.safe_load(sent.read_text())
    sent.write_text(yaml.safe_dump({**fields, "agent": "random_action"}))
    assert "give exactly one of policy and agent" in refusal("submission", sent)
