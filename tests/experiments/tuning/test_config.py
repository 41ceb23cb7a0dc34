"""Sweeps: what a space may say, which trials it makes, and what a size changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning import config
from ssdgym.experiments.tuning.config import load_sweep


def sweep_of(space: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A sweep over a heuristic; keyword arguments replace fields."""
    return {
        "base": {"kind": "policy", "policy": "greedy", "device": "tiny"},
        "space": space,
        "evaluation": {"workloads": ["zipf99"], "host_pages": 100},
        **fields,
    }


@pytest.mark.parametrize("name", ["ppo-erase-victim", "ppo-optuna", "ppo-population", "gc-threshold"])
def test_sweeps_that_come_with_ssdgym__have_a_smaller_size(name: str) -> None:
    full, smoke = load_sweep(name), load_sweep(name, "smoke")
    assert len(smoke.parameters()) < len(full.parameters())
    assert smoke.evaluation.host_pages < full.evaluation.host_pages
    assert smoke.metric == full.metric


def test_parameters__grids__every_combination_in_order() -> None:
    sweep = load_sweep(sweep_of({"a": {"grid": [1, 2]}, "b": {"grid": ["x", "y"]}}))
    assert [tuple(one.values()) for one in sweep.parameters()] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


def test_parameters__same_seed_same_trials_other_seed_others() -> None:
    space = {"a": {"uniform": [0, 1]}, "b": {"choice": [1, 2, 3]}}
    one, same, other = (load_sweep(sweep_of(space, trials=8, seed=seed)).parameters() for seed in (5, 5, 6))
    assert one == same != other


def test_parameters__more_trials__leave_those_before_them_as_they_are() -> None:
    space = {"a": {"grid": [1, 2]}, "b": {"loguniform": [1e-5, 1e-2]}}
    few, many = (load_sweep(sweep_of(space, trials=trials)).parameters() for trials in (2, 5))
    assert many[: len(few)] == few and len(many) == 2 * 5


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [
        ({"uniform": [2, 3]}, 2, 3),
        ({"loguniform": [1e-4, 1e-1]}, 1e-4, 1e-1),
        ({"quniform": [0, 1, 0.25]}, 0, 1),
        ({"qloguniform": [1, 100, 1]}, 1, 100),
    ],
)
def test_draws__lie_between_the_limits(field: dict[str, Any], low: float, high: float) -> None:
    drawn = [one["a"] for one in load_sweep(sweep_of({"a": field}, trials=200)).parameters()]
    assert all(low <= value <= high for value in drawn) and len(set(drawn)) > 3


def test_draws__logarithmic__half_of_them_below_the_geometric_middle() -> None:
    drawn = [
        one["a"] for one in load_sweep(sweep_of({"a": {"loguniform": [1e-4, 1]}}, trials=400)).parameters()
    ]
    assert 0.4 < sum(value < 1e-2 for value in drawn) / 400 < 0.6


def test_draws__steps__are_whole_where_limits_and_step_are_and_never_beyond_the_limit() -> None:
    sweep = load_sweep(sweep_of({"a": {"quniform": [2, 9, 3]}, "b": {"quniform": [0, 1, 0.5]}}, trials=100))
    assert {one["a"] for one in sweep.parameters()} == {2, 5, 8}
    assert all(isinstance(one["a"], int) for one in sweep.parameters())
    assert {one["b"] for one in sweep.parameters()} == {0.0, 0.5, 1.0}


def test_draws__are_what_a_table_shows_of_them() -> None:
    drawn = [one["a"] for one in load_sweep(sweep_of({"a": {"uniform": [0, 1]}}, trials=50)).parameters()]
    assert all(float(f"{value:.4g}") == value for value in drawn)


def test_probes__have_every_listed_value_and_every_limit() -> None:
    space = {"a": {"choice": ["x", "y", "z"]}, "b": {"loguniform": [0.01, 1]}, "c": {"quniform": [2, 9, 3]}}
    probes = load_sweep(sweep_of(space)).probes()
    assert [tuple(one.values()) for one in probes] == [("x", 0.01, 2), ("y", 1.0, 8), ("z", 1.0, 8)]


@pytest.mark.parametrize(("value", "nearest"), [(0.5, 2), (4.9, 5), (7.9, 8), (100.0, 8)])
def test_nearest__is_on_a_step_within_the_limits(value: float, nearest: int) -> None:
    field = load_sweep(sweep_of({"a": {"quniform": [2, 9, 3]}})).space["a"]
    assert field.nearest(value) == nearest


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
        ({"space": {"a": {"normal": [0, 1]}}}, "field space.a.normal is unknown"),
        ({"trials": 3}, "the space has only grids"),
        ({"mode": "smallest"}, "field mode must be 'min' or 'max'"),
        ({"scheduler": {"kind": "sha"}}, "field scheduler.kind must be one of 'fifo', 'asha', 'pbt'"),
        ({"search": {"kind": "tpe"}}, "field search.kind must be one of 'draws', 'optuna'"),
        ({"search": {"kind": "optuna"}}, "has search optuna, which cannot use the grid of a"),
        ({"scheduler": {"kind": "pbt"}}, "has scheduler pbt, which cannot use the grid of a"),
        (
            {"scheduler": {"kind": "pbt"}, "space": {"a": {"choice": [1, 2]}}},
            "has scheduler pbt, which copies what is trained; give a base of kind agent",
        ),
        (
            {"scheduler": {"kind": "pbt"}, "search": {"kind": "optuna"}},
            "has search optuna and scheduler pbt",
        ),
        (
            {"scheduler": {"kind": "pbt", "factors": [1.2, 0.8]}},
            "field scheduler must have factors of which the first lies between 0 and 1",
        ),
        ({"base": {"kind": "device"}}, "field base.kind must be one of 'agent', 'policy'"),
        ({"trails": 3}, "field trails is unknown"),
    ],
)
def test_wrong_sweep__is_one_sentence_with_the_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError) as error:
        load_sweep({**sweep_of({"a": {"grid": [1]}}), **changes})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_size__replaces_fields_and_keeps_the_rest_of_base_and_evaluation() -> None:
    sizes = {"smoke": {"evaluation": {"host_pages": 7}, "space": {"b": {"grid": [1]}}}}
    source = sweep_of({"a": {"grid": [1, 2]}}, sizes=sizes)
    full, smoke = load_sweep(source), load_sweep(source, "smoke")
    assert (full.evaluation.host_pages, smoke.evaluation.host_pages) == (100, 7)
    assert smoke.evaluation.workloads == full.evaluation.workloads
    assert list(smoke.space) == ["b"] and smoke.base == full.base


def test_size__with_an_error__is_named() -> None:
    with pytest.raises(SsdgymError, match=r"size smoke: .*field evaluation.host_pages"):
        load_sweep(
            sweep_of({"a": {"grid": [1]}}, sizes={"smoke": {"evaluation": {"host_pages": 0}}}), "smoke"
        )


def test_documentation__has_every_field_in_one_table() -> None:
    page = (Path(__file__).parents[3] / "docs/experiments.md").read_text()
    table = page[page.index("| field | default | meaning |") :].split("\n\n")[0]
    first = {word for line in table.splitlines() for word in re.findall(r"`([^`]*)`", line.split("|")[1])}
    names = {name for cell in first for name in re.findall(r"\w+", cell)}
    models = [config.SweepConfig, config.HeldOutConfig, config.RangeConfig]
    models += [config.AgentBaseConfig, config.PolicyBaseConfig, config.AshaConfig, config.PbtConfig]
    models += [config.OptunaConfig]
    fields = {name for model in models for name in model.model_fields}
    assert fields <= names, f"without a line: {sorted(fields - names)}"
    kinds = {model.model_fields["kind"].annotation.__args__[0] for model in models[3:]}
    assert kinds <= names
