"""Agents of the zoo were trained on what their cards say, and nothing of that is in a test split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.card import AgentCard, read_parts
from ssdgym.agents.training.config import TrainConfig, default_of
from ssdgym.agents.zoo import zoo_agents
from ssdgym.envs.sources import named_workloads
from ssdgym.experiments.leaderboard.suites import load_suite, split_digest
from ssdgym.experiments.leaderboard.training import (
    SuiteEvolutionConfig,
    load_training,
    training_of,
    training_workloads,
)
from ssdgym.workloads.stream import load_workload

ZOO = sorted(zoo_agents().items())


def test_zoo__has_an_agent_for_every_training_of_it() -> None:
    names = {name for name, _ in ZOO}
    assert {"placement-v1", "placement-v2", "victim-v1", "idle-v1", "victim-ppo-v1"} <= names


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__was_trained_on_the_splits_that_its_suite_has_today(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    assert card.split_digest == split_digest(load_suite(card.suite))


def _seen(card: AgentCard, name: str) -> list[Any]:
    """Return the workloads that an agent was trained and validated on."""
    suite = load_suite(card.suite)
    if "suite" in card.training:
        config = SuiteEvolutionConfig.model_validate(card.training)
        return training_workloads(suite, config.tasks.workloads, name) + list(suite.splits["validation"])
    played = TrainConfig.model_validate(card.training)
    own = default_of(played.environment.id, "workload")
    trained = named_workloads(played.environment.kwargs.get("workload", own))
    validated = named_workloads([*played.evaluation.workloads, *played.evaluation.kwargs.get("workload", ())])
    return [*trained, *validated]


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__saw_no_workload_of_the_test_split(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    seen = _seen(card, name)
    test = {repr(load_workload(one)) for one in load_suite(card.suite).splits["test"]}
    assert seen and not test & {repr(load_workload(one)) for one in seen}


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__is_made_by_the_configuration_of_its_command(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    words = card.command.split()
    assert words[:2] == ["ssdgym", "train"]
    seed = int(words[words.index("--seed") + 1])
    config = load_training(words[2]).model_copy(update={"seed": seed})
    made = config if isinstance(config, SuiteEvolutionConfig) else training_of(config)[0]
    assert type(made).model_validate(card.training) == made


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__was_trained_in_less_than_half_an_hour_of_two_cores(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    assert sum(stage.cpu_seconds for stage in card.trained_by) < 2 * 30 * 60
