"""Comparisons: pairing by task and seed, and claims only where an interval supports them."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.comparison import (
    WRITE_AMPLIFICATION,
    advantage,
    best_heuristic,
    score_matrix,
    verdict,
)
from tests.experiments.synthetic import grid, result


def test_score_matrix__has_runs_by_seed_and_tasks_in_order() -> None:
    results = grid({"greedy": 0.0}, seeds=2, workloads=("zipf", "uniform"))[::-1]
    np.testing.assert_allclose(
        score_matrix(results, "greedy", WRITE_AMPLIFICATION), [[2.0, 2.0], [2.01, 2.01]]
    )


def test_score_matrix__names_what_is_missing_or_twice() -> None:
    results = [*grid({"greedy": 0.0}, seeds=2), result("greedy", 0, 2.0, "uniform")]
    with pytest.raises(SsdgymError, match=r"greedy on uniform .* each of the seeds \[0, 1\], and has \[0\]"):
        score_matrix(results, "greedy", WRITE_AMPLIFICATION)


def test_best_heuristic__is_the_lowest_that_did_not_learn() -> None:
    results = grid({"fifo": 0.5, "greedy": 0.2, "learned": 0.0})
    assert best_heuristic(results, ["learned"]) == "greedy"
    assert best_heuristic(grid({"learned": 0.0}), ["learned"]) is None


def test_verdict__a_win_needs_an_interval_that_excludes_zero() -> None:
    found = advantage(grid({"learned": -0.1, "greedy": 0.0}), "learned", "greedy")
    assert found.beats and not found.loses
    assert found.improvement.value == 1.0
    assert verdict(found).startswith("learned beats greedy (write amplification -5.0%, 95 % interval -5.0%")


def test_verdict__a_defeat_is_said() -> None:
    found = advantage(grid({"learned": 0.1, "greedy": 0.0}), "learned", "greedy")
    assert found.loses and not found.beats
    assert "learned does NOT beat greedy, it is worse" in verdict(found)


def test_verdict__a_better_mean_is_no_win_while_the_interval_includes_zero() -> None:
    ours = [1.8, 2.3, 1.9, 2.05, 1.9]
    results = [result("learned", seed, value) for seed, value in enumerate(ours)]
    results += [result("greedy", seed, 2.0) for seed in range(5)]
    found = advantage(results, "learned", "greedy")
    assert found.difference.value < 0 < found.difference.high
    assert not found.beats and not found.loses
    assert "does NOT beat greedy" in verdict(found) and "includes zero" in verdict(found)


def test_verdict__one_seed_claims_nothing() -> None:
    found = advantage(grid({"learned": -0.5, "greedy": 0.0}, seeds=1), "learned", "greedy")
    assert not found.beats
    assert verdict(found).endswith("in a single seed, too few to say who is better.")
