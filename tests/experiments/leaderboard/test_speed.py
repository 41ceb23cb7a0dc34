"""Times of policies: beside the baseline, measured once, and none of bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard import speed
from ssdgym.experiments.leaderboard.board import Speed
from ssdgym.experiments.leaderboard.speed import Speeds, measure_speed
from ssdgym.experiments.runs.config import expand
from ssdgym.experiments.runs.spec import RunSpec
from tests.experiments.leaderboard.made import SUITE, made_board, row

BOARD = made_board()


def test_measure__a_policy_that_does_more_takes_longer() -> None:
    greedy, midas = (
        RunSpec("demo", "zipf99", policy, 1, ftl=(("timing", "none"),), warmup=2_000)
        for policy in ("greedy+sep_gc", "midas")
    )
    found = measure_speed(midas, greedy, requests=5_000, turns=2)
    assert found.cpu_us > 0 and found.relative > 1


def test_measure__a_workload_that_ends__refused(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(
        "".join(f"{n},h,0,Write,{n % 50 * 4096},4096,1\n" for n in range(900))
    )
    trace = {"kind": "trace", "path": str(tmp_path / "trace.csv"), "format": "msr"}
    run = RunSpec("tiny", trace, "greedy", 1, ftl=(("timing", "none"),), warmup=10)
    with pytest.raises(SsdgymError, match="ends before policies can be timed"):
        measure_speed(run, run, requests=1_000)


def test_speeds__relative_to_the_best_pair__measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def made_up(run: RunSpec, baseline: RunSpec) -> Speed:
        measured.append(run.policy)
        return Speed(cpu_us=1.0, relative={"midas": 4.0, "greedy+sep_gc": 1.0}.get(run.policy, 2.0))

    monkeypatch.setattr(speed, "measure_speed", made_up)
    runs = expand(SUITE.experiment(["test"], {"policies": (*SUITE.policies, *SUITE.learned)}, {}))
    for _ in range(2):
        board = Speeds(tmp_path / "speeds.json").measure(BOARD, runs, SUITE.baseline)
        assert {one.name: one.speed.relative for one in board.rows if one.speed} == {
            "cost_benefit+sep_gc": 0.5,
            "greedy+sep_gc": 0.25,
            "cost_benefit+sepbit": 0.5,
            "midas": 1.0,
            "ours": 0.5,
            "cost_benefit+dac": 0.5,
        }
        assert row(board, "greedy+oracle_k").speed is None
    assert len(measured) == len(set(measured)) == 6


def test_speeds__a_damaged_file__one_sentence(tmp_path: Path) -> None:
    (tmp_path / "speeds.json").write_text("[1]")
    with pytest.raises(SsdgymError, match="holds no times of policies; remove it"):
        Speeds(tmp_path / "speeds.json")
