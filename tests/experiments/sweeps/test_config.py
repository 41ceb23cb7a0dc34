"""Sweeps: what a space may say, which trials it makes, and what a size changes."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.sweeps.config import load_sweep


def sweep_of(space: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A sweep over a heuristic; keyword arguments replace fields."""
    return {
        "trial": {"kind": "policy", "policy": "greedy", "device": "tiny"},
        "space": space,
        "evaluation": {"workloads": ["zipf99"], "host_pages": 100},
        **fields,
    }


@pytest.mark.parametrize("name", ["ppo-erase-victim", "ppo-optuna", "gc-threshold", "td-lifetime"])
def test_sweeps_that_come_with_ssdgym__have_a_smaller_size(name: str) -> None:
    full, smoke = load_sweep(name), load_sweep(name, "smoke")
    assert smoke.number_of_trials < full.number_of_trials
    assert smoke.evaluation.host_pages < full.evaluation.host_pages
    assert smoke.metric == full.metric


def test_points__have_every_combination_of_grids_with_every_listed_value_and_every_limit() -> None:
    grids = load_sweep(sweep_of({"a": {"grid": [1, 2]}, "b": {"grid": ["x", "y"]}}))
    assert [tuple(one.values()) for one in grids.points()] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert grids.number_of_trials == 4
    drawn = {"a": {"choice": ["x", "y", "z"]}, "b": {"loguniform": [0.01, 1]}, "c": {"qrandint": [3, 9, 3]}}
    sweep = load_sweep(sweep_of(drawn, trials=5))
    assert [tuple(one.values()) for one in sweep.points()] == [("x", 0.01, 3), ("y", 1.0, 9), ("z", 1.0, 9)]
    assert sweep.number_of_trials == 5
    both = load_sweep(sweep_of({"a": {"grid": [1, 2]}, "b": {"uniform": [0, 1]}}, trials=3))
    assert [tuple(one.values()) for one in both.points()] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert both.number_of_trials == 6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"space": {}}, "field space"),
        (
            {"space": {"a": {"grid": [1], "choice": [2]}}},
            "field space.a must have exactly one of grid, choice",
        ),
        ({"space": {"a": {"grid": [1, 1]}}}, "field space.a names a value twice"),
        ({"space": {"a": {"uniform": [2, 1]}}}, "field space.a must begin with its lower limit"),
        ({"space": {"a": {"loguniform": [0, 1]}}}, "must have limits above 0 for a logarithm"),
        ({"space": {"a": {"quniform": [0, 1, 2]}}}, "must have a step above 0 that fits"),
        ({"space": {"a": {"qrandint": [2, 9, 3]}}}, "must have limits that are multiples of its step, 3"),
        ({"space": {"a": {"normal": [0, 1]}}}, "field space.a.normal is unknown"),
        ({"trials": 3}, "the space has only grids"),
        ({"mode": "smallest"}, "field mode must be 'min' or 'max'"),
        ({"scheduler": {"kind": "sha"}}, "field scheduler.kind must be 'asha'"),
        ({"search": {"kind": "tpe"}}, "field search.kind must be 'optuna'"),
        ({"search": {"kind": "optuna"}}, "has search optuna, which cannot use the grid of a"),
        ({"trial": {"kind": "device"}}, "field trial.kind must be one of 'agent', 'policy'"),
        ({"trails": 3}, "field trails is unknown"),
    ],
)
def test_wrong_sweep__is_one_sentence_with_the_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError) as error:
        load_sweep({**sweep_of({"a": {"grid": [1]}}), **changes})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_size__replaces_fields_and_keeps_the_rest_of_trial_and_evaluation() -> None:
    sizes = {"smoke": {"evaluation": {"host_pages": 7}, "space": {"b": {"grid": [1]}}}}
    source = sweep_of({"a": {"grid": [1, 2]}}, sizes=sizes)
    full, smoke = load_sweep(source), load_sweep(source, "smoke")
    assert (full.evaluation.host_pages, smoke.evaluation.host_pages) == (100, 7)
    assert smoke.evaluation.workloads == full.evaluation.workloads
    assert list(smoke.space) == ["b"] and smoke.trial == full.trial


def test_size__with_an_error__is_named() -> None:
    with pytest.raises(SsdgymError, match=r"size smoke: .*field evaluation.host_pages"):
        load_sweep(
            sweep_of({"a": {"grid": [1]}}, sizes={"smoke": {"evaluation": {"host_pages": 0}}}), "smoke"
        )
