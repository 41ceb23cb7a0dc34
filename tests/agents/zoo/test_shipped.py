"""Agents of the zoo were trained on what their cards say, and nothing of that is in a test split."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.agents.card import read_parts
from ssdgym.agents.zoo import zoo_agents
from ssdgym.config.loading import load_config
from ssdgym.experiments.leaderboard.suites import load_suite, split_digest
from ssdgym.experiments.leaderboard.training import SuiteEvolutionConfig, training_workloads
from ssdgym.workloads.stream import load_workload

ZOO = sorted(zoo_agents().items())


def test_zoo__has_an_agent_for_every_evolution() -> None:
    names = {name for name, _ in ZOO}
    assert {"placement-v1", "placement-v2", "victim-v1", "idle-v1"} <= names


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__was_trained_on_the_splits_that_its_suite_has_today(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    assert card.split_digest == split_digest(load_suite(card.suite))


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__saw_no_workload_of_the_test_split(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    config, suite = SuiteEvolutionConfig.model_validate(card.training), load_suite(card.suite)
    seen = training_workloads(suite, config.tasks.workloads, name) + list(suite.splits["validation"])
    test = {repr(load_workload(one)) for one in suite.splits["test"]}
    assert not test & {repr(load_workload(one)) for one in seen}


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__is_made_by_the_configuration_of_its_command(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    words = card.command.split()
    assert words[:2] == ["ssdgym", "train"]
    config = load_config(SuiteEvolutionConfig, words[2], "training")
    seed = int(words[words.index("--seed") + 1])
    assert SuiteEvolutionConfig.model_validate(card.training) == config.model_copy(update={"seed": seed})


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_agent__was_trained_in_less_than_half_an_hour_of_two_cores(name: str, path: Path) -> None:
    card, _ = read_parts(path)
    assert sum(stage.cpu_seconds for stage in card.trained_by) < 2 * 30 * 60
