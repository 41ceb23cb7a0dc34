"""Training beside a suite: what is refused, and what the best agent is chosen by."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.train import train
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
FEATURES = ["log_benefit", "log_age", "log_spare"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small suite."""
    import yaml

    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.yaml").write_text(yaml.safe_dump(SUITE))
    return folder


@pytest.fixture(scope="module")
def make(folder: Path) -> Any:
    """Make a small training run beside a small suite."""

    def make_config(**changes: Any) -> SuiteTrainConfig:
        fields = {
            "algorithm": "ppo",
            "suite": str(folder / "suite.yaml"),
            "environment": {
                "kwargs": {"ftl": {"timing": "none"}, "workload": [TRAINING], "features": FEATURES}
            },
            "n_envs": 4,
            "total_decisions": 128,
            "checkpoint_decisions": 64,
            "ppo": {"rollout_steps": 16, "batch_decisions": 32},
            "evaluation": {"episodes": 1, "workloads": [VALIDATION], "metric": "write_amplification"},
        }
        return SuiteTrainConfig.model_validate({**fields, **changes})

    return make_config


@pytest.fixture(scope="module")
def trained(make: Any, folder: Path) -> Path:
    """Train an agent."""
    config, about = training_of(make())
    return train(config, folder / "run", progress=False, about=about)


def test_agent__says_on_its_card_which_splits_it_knows(trained: Path, folder: Path) -> None:
    card = Agent.load(trained).card
    assert card.suite == str(folder / "suite.yaml")
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
        "environment": {"kwargs": {"workload": trained}},
        "evaluation": {"workloads": validated},
    }
    if reason is None:
        config, about = training_of(make(**changes))
        assert config.environment.kwargs == {"workload": trained}
        assert about["split_digest"] == split_digest(load_suite(SUITE))
    else:
        with pytest.raises(SsdgymError, match=reason):
            training_of(make(**changes))


def test_training__without_a_suite__is_as_it_was() -> None:
    config, about = training_of(load_config(SuiteTrainConfig, "ppo-smoke", "training"))
    assert about == {}
    assert config.environment.kwargs["device"] == "demo"
