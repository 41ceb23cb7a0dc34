"""Optuna's suggestions follow from the seed and the results, not from which trial ends first."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.experiments.tuning.config import load_sweep

pytest.importorskip("ray")
pytest.importorskip("optuna")

SPACE = {
    "ftl.gc.free_blocks": {"quniform": [2, 9, 1]},
    "policy": {"choice": ["greedy", "fifo", "cost_benefit"]},
    "policy.x": {"loguniform": [0.001, 10]},
}


def make_search(concurrent: int = 1, seed: int = 0, startup_trials: int = 1) -> Any:
    from ssdgym.experiments.tuning.on_ray import OptunaRounds

    return OptunaRounds(
        load_sweep(
            {
                "base": {"kind": "policy", "policy": "greedy"},
                "space": SPACE,
                "evaluation": {"workloads": ["zipf99"], "host_pages": 100},
                "search": {"kind": "optuna", "startup_trials": startup_trials},
                "trials": 9,
                "concurrent": concurrent,
                "seed": seed,
            }
        )
    )


def suggestions(metrics: list[float | None], **fields: Any) -> list[dict[str, Any]]:
    """What a search suggests when its trials end with these results, one after the other; `None`: failed."""
    search = make_search(**fields)
    found = []
    for number, metric in enumerate(metrics):
        suggested = search.suggest(str(number))
        assert suggested["trial"]["number"] == number
        found.append(suggested["trial"]["parameters"])
        search.on_trial_complete(str(number), {"metric": metric} if metric else None, error=not metric)
    found.append(search.suggest("last")["trial"]["parameters"])
    return found


def test_suggestions__have_every_field_within_its_range() -> None:
    for parameters in suggestions([3.0] * 20):
        assert list(parameters) == list(SPACE)
        assert parameters["ftl.gc.free_blocks"] in range(2, 10)
        assert parameters["policy"] in SPACE["policy"]["choice"]
        assert 0.001 <= parameters["policy.x"] <= 10
        assert float(f"{parameters['policy.x']:.4g}") == parameters["policy.x"]


def test_suggestions__same_seed_and_results__the_same_trials() -> None:
    assert suggestions([3.0, 2.0, 1.0]) == suggestions([3.0, 2.0, 1.0])
    assert suggestions([3.0])[0] != suggestions([3.0], seed=1)[0]


def test_second_trial__depends_on_whether_the_first_has_found_something() -> None:
    found, failed = suggestions([3.0]), suggestions([None])
    assert found[0] == failed[0] and found[1] != failed[1]


def test_third_trial__depends_on_which_was_better() -> None:
    falling, rising = suggestions([3.0, 2.0]), suggestions([2.0, 3.0])
    assert falling[:2] == rising[:2] and falling[2] != rising[2]


def test_round__next_one_waits_for_all_results_and_not_for_their_order() -> None:
    thirds = []
    for order in (("a", "b"), ("b", "a")):
        search = make_search(concurrent=2, startup_trials=2)
        for one in ("a", "b"):
            search.suggest(one)
        for one in order:
            assert search.suggest("c") is None
            search.on_trial_complete(one, {"metric": {"a": 2.0, "b": 1.0}[one]})
        thirds.append(search.suggest("c"))
    assert thirds[0] == thirds[1] is not None
