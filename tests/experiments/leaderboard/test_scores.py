"""Scores of a suite: where runs stand between a fixed policy and a bound."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.scores import score
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.results import Result
from ssdgym.workloads.stream import load_workload

SUITE = load_suite(
    {
        "devices": ["tiny"],
        "splits": {"training": ["uniform"], "test": ["zipf99", "hot90"]},
        "baseline": "fixed",
        "ceilings": ["bound", "other_bound"],
        "seeds": [1, 2],
        "host_pages": 100,
    }
)


def results_of(rates: dict[str, dict[str, list[float]]]) -> list[Result]:
    """Results by workload, policy and seed."""
    return [
        Result("tiny", "", workload, policy, seed, metrics={"write_amplification": rate})
        for workload, policies in rates.items()
        for policy, by_seed in policies.items()
        for seed, rate in enumerate(by_seed)
    ]


RATES = {
    "zipf99": {"fixed": [3.0, 3.2], "bound": [1.0, 1.2], "other_bound": [2.0, 2.0], "ours": [2.1, 2.1]},
    "hot90": {"fixed": [2.0, 2.0], "bound": [1.8, 1.8], "other_bound": [1.0, 1.0], "ours": [2.5, 2.5]},
}


def test_score__0_at_the_baseline_and_1_at_the_best_bound_of_each_task() -> None:
    found = score(results_of(RATES), SUITE)
    by_policy = {standing.policy: standing for standing in found.standings}
    assert by_policy["fixed"].score.value == pytest.approx(0.0)
    # (3.1 - 2.1) / (3.1 - 1.1) = 0.5 on one task, (2.0 - 2.5) / (2.0 - 1.0) = -0.5 on the other.
    assert by_policy["ours"].score.value == pytest.approx(0.0)
    assert [task.ceiling for task in found.tasks] == [pytest.approx(1.1), 1.0]
    assert [task.best for task in found.tasks] == [("ours", 2.1), ("fixed", 2.0)]
    assert (by_policy["ours"].best, by_policy["fixed"].best, by_policy["bound"].best) == (1, 1, 0)
    assert [standing.score.value for standing in found.standings] == sorted(
        (standing.score.value for standing in found.standings), reverse=True
    )


def test_score__an_interval_over_seeds() -> None:
    found = score(results_of(RATES), SUITE)
    fixed = next(standing for standing in found.standings if standing.policy == "fixed")
    assert fixed.score.low <= 0.0 <= fixed.score.high
    one = score([result for result in results_of(RATES) if result.seed == 0], SUITE)
    assert all(np.isnan(standing.score.low) for standing in one.standings)


def test_score__a_task_without_room__left_out_with_a_sentence() -> None:
    rates = {**RATES, "uniform": {policy: [1.0, 1.0] for policy in RATES["zipf99"]}}
    found = score(results_of(rates), SUITE)
    assert found.left_out == ("uniform on tiny: no bound is below the baseline, 1.000; it is left out.",)
    assert found.standings == score(results_of(RATES), SUITE).standings


def test_score__of_tasks_without_any_room() -> None:
    found = score(results_of({"uniform": {"fixed": [1.0], "bound": [1.0], "other_bound": [1.0]}}), SUITE)
    assert (found.standings, found.tasks, len(found.left_out)) == ((), (), 1)


def test_suite__a_workload_in_two_splits__refused() -> None:
    fields = SUITE.model_dump() | {"splits": {"training": ["zipf99"], "test": ["hot90", "zipf99"]}}
    with pytest.raises(SsdgymError, match="has 'zipf99' in training and in test; keep it in one"):
        load_suite(fields)


def test_suite__what_has_learned__a_policy_or_several_of_one_name() -> None:
    suite = load_suite(SUITE.model_dump() | {"agents": ["a", {"name": "b", "policies": ["b1", "b2"]}]})
    assert [(entry.name, entry.policies) for entry in suite.agents] == [("a", ("a",)), ("b", ("b1", "b2"))]
    assert suite.learned == ("a", "b1", "b2")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"agents": ["bound"]}, "has 'bound' in ceilings and in agents; keep it in one"),
        ({"policies": ["other_bound"]}, "has 'other_bound' in ceilings and in policies; keep it in one"),
        ({"agents": ["a", {"name": "b", "policies": ["a"]}]}, "has 'a' twice in agents"),
        ({"agents": ["a", {"name": "a", "policies": ["c"]}]}, "gives two entries of agents the same name"),
        ({"rivals": ["nobody"]}, "has 'nobody' in rivals and not in policies; add it there"),
    ],
)
def test_suite__a_policy_in_two_places__refused(fields: dict[str, object], expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        load_suite(SUITE.model_dump() | fields)


def test_experiment__runs_what_the_scores_are_made_of_once() -> None:
    experiment = SUITE.experiment(["test"], {"policies": ("ours", "bound")}, {"host_pages": 7})
    assert experiment.policies == ("fixed", "bound", "other_bound", "ours")
    assert (experiment.workloads, experiment.host_pages, experiment.seeds) == (("zipf99", "hot90"), 7, (1, 2))


@pytest.mark.parametrize("name", ["wa", "latency", "traces"])
def test_suites__their_splits_share_no_workload(name: str) -> None:
    suite = load_suite(name)
    models: dict[str, str] = {}
    for split, workloads in suite.splits.items():
        for workload in workloads:
            model = load_workload(workload).model_dump_json()
            assert models.setdefault(model, split) == split, workload
    assert set(suite.splits) == {"training", "validation", "test"}
    assert isinstance(suite, SuiteConfig)
