"""Comparisons: pairing by task and seed, and claims only where an interval supports them."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    advantage,
    best_heuristic,
    groups_of,
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


def test_groups__each_task_then_all_of_them_with_their_seeds() -> None:
    found = groups_of(grid({"greedy": 0.0, "fifo": 0.5}, seeds=3, workloads=("zipf", "uniform")))
    assert [group.title for group in found][-1] == "all 2 tasks"
    assert [len(group.results) for group in found] == [6, 6, 12]
    assert all(group.seeds == [0, 1, 2] and not group.left_out for group in found)


def test_groups__what_a_failed_run_leaves_uneven_is_left_out_and_said() -> None:
    results = grid({"greedy": 0.0, "fifo": 0.5}, seeds=3, workloads=("zipf", "uniform"))
    missing = next(r for r in results if (r.policy, r.workload, r.seed) == ("fifo", "uniform", 1))
    results.remove(missing)
    zipf, uniform, together = groups_of(results)
    assert zipf.seeds == [0, 1, 2] and zipf.left_out == ()
    assert uniform.seeds == together.seeds == [0, 2]
    assert "seed 1 is left out, since not every policy has them" in uniform.left_out[0]
    assert score_matrix(together.results, "fifo", WRITE_AMPLIFICATION).shape == (2, 2)


def test_groups__a_policy_that_was_not_run_on_every_task_is_judged_only_where_it_was() -> None:
    results = [
        *grid({"greedy": 0.0, "fifo": 0.5}, workloads=("zipf",)),
        *grid({"greedy": 0.0}, workloads=("uniform",)),
    ]
    zipf, uniform, together = groups_of(results)
    assert {r.policy for r in zipf.results} == {"greedy", "fifo"}
    assert {r.policy for r in together.results} == {r.policy for r in uniform.results} == {"greedy"}
    assert together.left_out == ("all 2 tasks: fifo was run on 1 of them only and is left out.",)


def test_groups__without_a_seed_in_common_there_is_nothing_to_compare() -> None:
    (group,) = groups_of([result("greedy", 0, 2.0), result("fifo", 1, 2.0)])
    assert group.results == ()
    assert "no seed was run with every policy and task" in group.left_out[0]


def test_advantage__refuses_to_pair_different_seeds() -> None:
    results = [result("greedy", seed, 2.0) for seed in (0, 1)]
    results += [result("fifo", seed, 2.5) for seed in (1, 2)]
    with pytest.raises(SsdgymError, match=r"greedy was run on the seeds \[0, 1\] and fifo on \[1, 2\]"):
        advantage(results, "greedy", "fifo")
