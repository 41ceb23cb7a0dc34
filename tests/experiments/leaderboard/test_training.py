"""Training on tasks around a suite: what is drawn, what is refused, and what the best agent is chosen by."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.train import environments_of, train
from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite, split_digest
from ssdgym.experiments.leaderboard.training import SuiteTrainConfig, training_of

TRAINING, VALIDATION, TEST = ({"kind": "zipf", "theta": theta} for theta in (0.8, 0.9, 0.99))
SUITE: dict[str, Any] = {
    "devices": ["demo"],
    "vary": {"capacity.over_provisioning": [0.12, 0.28]},
    "ftls": [{"timing": "none"}],
    "splits": {"training": [TRAINING], "validation": [VALIDATION, "hot90"], "test": [TEST]},
    "baseline": "cost_benefit",
    "ceilings": ["future_benefit+oracle_k"],
    "seeds": [1],
    "host_pages": 2000,
    "warmup": 500,
}
SHAPES = [
    {"geometry.blocks_per_plane": 128, "geometry.pages_per_block": 16},
    {"geometry.blocks_per_plane": 64, "geometry.pages_per_block": 32},
]


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Make a small training run around a small suite; keyword arguments replace fields of its tasks."""
    import yaml

    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(SUITE))

    def make_config(changes: dict[str, Any] | None = None, **tasks: Any) -> SuiteTrainConfig:
        fields = {
            "algorithm": "fast_ppo",
            "suite": str(tmp_path / "suite.yaml"),
            "tasks": {"devices": 4, "shapes": SHAPES, **tasks},
            "environment": {
                "kwargs": {"features": ["log_benefit", "log_age", "log_spare", "log_pages_per_block"]}
            },
            "n_envs": 4,
            "total_decisions": 128,
            "checkpoint_decisions": 64,
            "fast_ppo": {"rollout_steps": 16, "batch_decisions": 32},
            "evaluation": {"episodes": 1},
        }
        return SuiteTrainConfig.model_validate({**fields, **(changes or {})})

    return make_config


def test_tasks__are_devices_of_several_shapes_and_the_workloads_of_the_training_split(make: Any) -> None:
    config, _ = training_of(make(devices=16, changes={"n_envs": 16}, workloads=["uniform"]))
    kwargs = config.environment.kwargs
    assert len({device["geometry"]["pages_per_block"] for device in kwargs["device"]}) == 2
    assert {device["capacity"]["over_provisioning"] for device in kwargs["device"]} == {0.12, 0.28}
    assert kwargs["workload"] == [TRAINING, "uniform"]


def test_environments__have_these_devices__and_tell_their_scale(make: Any) -> None:
    config, _ = training_of(make())
    with environments_of(config) as (env, _):
        devices = env.get_attr("episodes")[0].devices
        assert [d.geometry.pages_per_block for d in devices] == [
            fields["geometry"]["pages_per_block"] for fields in config.environment.kwargs["device"]
        ]
        context = env.reset()["context"]
        assert len(np.unique(context, axis=0)) > 1


def test_validation__plays_the_validation_split_on_every_device_of_the_suite(make: Any) -> None:
    config, _ = training_of(make())
    with environments_of(config) as (_, batches):
        played = [batch.get_attr("episodes")[0] for batch in batches]
    assert [episodes.workloads[0].kind for episodes in played] == ["zipf", "hot_cold"]
    for episodes in played:
        spare = [device.capacity.over_provisioning for device in episodes.devices]
        assert spare == [0.12, 0.28]
        assert (episodes.options.horizon, episodes.options.warmup) == (2000, 500)


def test_tasks__of_the_same_seed_are_the_same__of_another_seed_others(make: Any) -> None:
    one, same, other = (
        training_of(make(devices=8, changes={"n_envs": 8, "seed": seed}))[0] for seed in (3, 3, 4)
    )
    assert one == same
    assert one.environment != other.environment


@pytest.fixture
def trained(make: Any, tmp_path: Path) -> Path:
    """Train an agent."""
    config, about = training_of(make())
    return train(config, tmp_path / "run", progress=False, about=about)


def test_agent__says_on_its_card_which_splits_it_knows(trained: Path, tmp_path: Path) -> None:
    card = Agent.load(trained).card
    assert card.suite == str(tmp_path / "suite.yaml")
    assert card.split_digest == split_digest(load_suite(SUITE))


def test_agent__is_the_one_with_the_least_geometric_mean_in_validation(trained: Path) -> None:
    with trained.with_name("evaluations.csv").open() as file:
        rows = list(csv.DictReader(file))
    best = max(rows, key=lambda row: float(row["score"]))
    assert Agent.load(trained).card.decisions == int(best["decisions"])
    assert math.exp(-float(best["score"])) == pytest.approx(float(best["write_amplification"]), rel=0.3)


def test_training__of_the_same_seed__has_the_same_bits(make: Any, trained: Path, tmp_path: Path) -> None:
    config, _ = training_of(make())
    again = train(config, tmp_path / "again", progress=False).with_name("agent-last.zip")
    first = Agent.load(trained.with_name("agent-last.zip")).scorer.state_dict()
    assert all(weight.equal(first[name]) for name, weight in Agent.load(again).scorer.state_dict().items())


def _half(workload: Any) -> dict[str, Any]:
    parts = [{"weight": 0.5, "workload": one} for one in (workload, {"kind": "uniform"})]
    return {"kind": "mixed", "components": parts}


@pytest.mark.parametrize(
    ("workload", "split"),
    [
        (VALIDATION, "validation"),
        (_half(VALIDATION), "validation"),
        (TEST, "test"),
        (_half(TEST), "test"),
        ("zipf99", "test"),
    ],
)
def test_workload__of_another_split__is_refused__also_under_another_name_and_as_a_part(
    make: Any, workload: Any, split: str
) -> None:
    with pytest.raises(SsdgymError, match=f"tasks: plays .* of the split {split} of the suite"):
        training_of(make(workloads=[workload]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"environment": {"kwargs": {"workload": "zipf99"}}}, "environment.kwargs.workload is drawn"),
        ({"evaluation": {"kwargs": {"workload": "zipf99"}}}, "evaluation.kwargs.workload is drawn"),
        ({"evaluation": {"workloads": ["zipf99"]}}, "evaluation.workloads are those of the validation split"),
        ({"suite": None}, "tasks are drawn around a suite; name one in suite"),
        ({"n_envs": 2}, "only n_envs = 2 environments take one each"),
    ],
)
def test_training__that_names_more_than_its_tasks__is_refused(
    make: Any, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
        make(changes)


def test_training__that_comes_with_ssdgym__draws_its_tasks() -> None:
    config, about = training_of(load_config(SuiteTrainConfig, "fast_ppo-suite", "training"))
    assert about["suite"] == "wa"
    assert len(config.environment.kwargs["device"]) == 32


@pytest.mark.parametrize(
    ("trained", "validated", "reason"),
    [
        ([TRAINING], [VALIDATION], None),
        ([TRAINING, _half(VALIDATION)], [TRAINING], "environment: plays .* of the split validation"),
        ([TEST], [TRAINING], "environment: plays .* of the split test"),
        ([TRAINING], [_half(TEST)], "evaluation: plays .* of the split test"),
    ],
)
def test_training__around_a_suite_with_workloads_of_its_own__plays_nothing_of_its_test_split(
    make: Any, trained: list[Any], validated: list[Any], reason: str | None
) -> None:
    changes = {
        "tasks": None,
        "environment": {"kwargs": {"workload": trained}},
        "evaluation": {"workloads": validated},
    }
    if reason is None:
        config, about = training_of(make(changes))
        assert config.environment.kwargs == {"workload": trained}
        assert about["split_digest"] == split_digest(load_suite(SUITE))
    else:
        with pytest.raises(SsdgymError, match=reason):
            training_of(make(changes))


def test_training__without_tasks__is_as_it_was() -> None:
    config, about = training_of(load_config(SuiteTrainConfig, "ppo-smoke", "training"))
    assert about == {}
    assert config.environment.kwargs["device"] == "demo"


def test_tasks__vary_any_field_of_the_device__placements_with_other_streams_too(make: Any) -> None:
    vary = {"ftl.placement": ["single", "sep_gc", "sepbit"], "capacity.over_provisioning": [0.28]}
    config, _ = training_of(make(devices=8, changes={"n_envs": 8}, vary=vary))
    with environments_of(config) as (env, _):
        env.reset()
        placements = {device.ftl.placement for device in env.get_attr("episodes")[0].devices}
        assert {name.partition("(")[0] for name in placements} == {"single", "sep_gc", "sepbit"}
        for _ in range(20):
            env.step(env.get_attr("episodes")[0].view.mask.argmax(axis=1))
