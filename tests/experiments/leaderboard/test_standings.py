"""Where entries stand: the best fixed pair scores 0, losses are listed, training seeds count together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ssdgym.experiments.leaderboard.board import Entry, named_policy
from ssdgym.experiments.leaderboard.standings import suite_board
from ssdgym.experiments.leaderboard.suites import load_suite
from tests.experiments.leaderboard.made import AMPLIFICATION, FIELDS, SUITE, made_board, results, row

BOARD = made_board()


def test_best_fixed_pair__is_the_least_over_these_tasks__whatever_the_suite_calls_baseline() -> None:
    # sqrt(2.1 * 2.0) = 2.05 of SepBIT, sqrt(2.4 * 1.6) = 1.96 of MiDAS; what has learned does not count.
    assert BOARD.fixed == "midas" != SUITE.baseline
    found = row(BOARD, "midas")
    assert found.score is not None and found.score.value == pytest.approx(0.0)
    assert found.ratio.value == 1.0


def test_named_entries__are_ranked_and_never_the_pair_that_scores_0() -> None:
    alone = SUITE.model_copy(update={"policies": (), "agents": (), "rivals": ()})
    named = [
        named_policy("midas"),
        named_policy(SUITE.baseline),
        Entry("dac", "learned", ("cost_benefit+dac",)),
    ]
    board = suite_board("made", alone, ["test"], results(), (100, 0), named)
    assert board.fixed == SUITE.baseline
    assert [one.name for one in board.rows if one.kind != "bound"] == ["dac", "midas", SUITE.baseline]
    assert len(board.rows) == 5
    # of 3.0, 3.0 and the bounds 1.1 and 1.0: 0.6 / 1.9 and 1.4 / 2.0, two runs each
    score = row(board, "midas").score
    assert score is not None and score.value == pytest.approx((0.6 / 1.9 + 1.4 / 2.0) / 2)


def test_score__is_1_at_the_best_bound_of_each_task() -> None:
    of_dac = row(BOARD, "cost_benefit+dac").score
    # 0.4 / 1.3 and 0.2 / 1.3 on one task, 0.1 / 0.6 twice on the other: the middle half is the latter.
    assert of_dac is not None and of_dac.value == pytest.approx(0.1 / 0.6)


def test_bounds__scored_by_a_metric_of_their_own() -> None:
    suite = SUITE.model_copy(update={"metric": "cost", "ceiling_metric": "write_amplification"})
    made = [
        replace(one, metrics={**one.metrics, "cost": 2 * one.metric("write_amplification")})
        for one in results()
    ]
    board = suite_board("made", suite, ["test"], made, (100, 0))
    bound, ours = "future_benefit+oracle_k", "cost_benefit+dac"
    assert (board.ceiling_metric, board.metric) == ("write_amplification", "cost")
    assert board.tasks[0].values[bound] == (1.1, 1.1) and board.tasks[0].values[ours] == (4.0, 4.4)
    # 0.8 / 3.7 and 0.4 / 3.7 of zipf99, 0.2 / 2.2 twice of hot90: the middle half of four
    score = row(board, ours).score
    assert score is not None and score.value == pytest.approx((0.2 / 2.2 + 0.4 / 3.7) / 2)
    assert [board.bound(task) for task in board.tasks] == [1.1, 1.0]


def test_rows__by_falling_score() -> None:
    scores = [one.score.value for one in BOARD.rows if one.score]
    assert scores == sorted(scores, reverse=True)
    kinds = {one.name: one.kind for one in BOARD.rows}
    assert kinds == {
        "cost_benefit+sep_gc": "classic",
        "greedy+sep_gc": "classic",
        "cost_benefit+sepbit": "paper",
        "midas": "paper",
        "ours": "learned",
        "cost_benefit+dac": "learned",
        "greedy+oracle_k": "bound",
        "future_benefit+oracle_k": "bound",
    }


def test_ratio__geometric_mean_over_members_seeds_and_tasks() -> None:
    found = row(BOARD, "ours")
    ratios = [1.6 / 2.4, 1.6 / 2.4, 1.8 / 2.4, 1.8 / 2.4, 1.9 / 1.6, 2.1 / 1.6, 2.4 / 1.6, 2.4 / 1.6]
    assert found.ratio.value == pytest.approx(np.exp(np.log(ratios).mean()))
    assert found.ratio.low is not None and found.ratio.high is not None
    # Over workloads, too: one of the two alone is possible.
    assert found.ratio.low < 0.75 and found.ratio.high > 1.2


def test_ratio__to_the_best_rival_of_each_task() -> None:
    # SepBIT on zipf99, MiDAS on hot90.
    ratios = [2.0 / 2.0, 2.2 / 2.2, 1.5 / 1.6, 1.5 / 1.6]
    found = row(BOARD, "cost_benefit+dac").rivals
    assert found is not None and found.value == pytest.approx(np.exp(np.log(ratios).mean()))


def test_task_without_room__has_no_score_and_counts_in_ratios() -> None:
    same = {policy: [2.0, 2.0] for policy in AMPLIFICATION["zipf99"]}
    same["cost_benefit+dac"] = [8.0, 8.0]
    board = suite_board("made", SUITE, ["test"], results({**AMPLIFICATION, "uniform": same}), (100, 0))
    assert [board.is_scored(task) for task in board.tasks] == [True, True, False]
    dac, before = (row(one, "cost_benefit+dac") for one in (board, BOARD))
    assert dac.score == before.score
    assert dac.ratio.value == pytest.approx((before.ratio.value**2 * 4) ** (1 / 3))
    assert dac.worst == pytest.approx(4)


def test_task_with_hardly_any_room__has_no_score() -> None:
    bounds = {"greedy+oracle_k": [1.59, 1.59], "future_benefit+oracle_k": [1.59, 1.59]}
    near = {**AMPLIFICATION, "hot90": {**AMPLIFICATION["hot90"], **bounds}}
    board = suite_board("made", SUITE, ["test"], results(near), (100, 0))
    assert [board.is_scored(task) for task in board.tasks] == [True, False]


def test_another_metric__has_write_amplification_beside_it() -> None:
    suite = load_suite({**FIELDS, "metric": "latency"})
    board = suite_board("made", suite, ["test"], results(latency=1.0), (100, 0))
    found = row(board, "cost_benefit+dac")
    assert (found.ratio.value, found.score) == (1.0, None)
    # All are equal there, so the first is the best pair: 3.0 everywhere.
    ratios = [2.0 / 3.0, 2.2 / 3.0, 1.5 / 3.0, 1.5 / 3.0]
    assert found.amplification is not None
    assert found.amplification.value == pytest.approx(np.exp(np.log(ratios).mean()))


def test_one_seed__no_interval_of_scores() -> None:
    one = [result for result in results() if result.seed == 1]
    found = row(suite_board("made", SUITE, ["test"], one, (100, 0)), "midas")
    assert found.score is not None and (found.score.low, found.score.high) == (None, None)
