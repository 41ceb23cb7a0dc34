"""The zoo on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents import zoo
from ssdgym.agents.agent import Agent
from tests.agents.rules.agents import random_agent
from tests.cli.conftest import Run


@pytest.fixture
def one_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A zoo with one agent."""
    monkeypatch.setattr(zoo, "_FOLDER", tmp_path)
    agent = random_agent("victims")
    card = agent.card.model_copy(
        update={"command": "ssdgym train v1", "suite": "wa", "results": {"ratio [test]": 1.01}}
    )
    return Agent(agent.scorer, card).save(tmp_path / "victim-v0.zip")


def test_list__a_line_for_each_agent(one_agent: Path, run: Run) -> None:
    printed = run(["list", "agents"]).out
    for text in ("victim-v0", "ssdgym train v1", "wa"):
        assert text in printed


def test_list__as_json(one_agent: Path, printed: Callable[..., Any]) -> None:
    (found,) = printed("list", "agents")
    assert (found["name"], found["decides"], found["suite"]) == ("victim-v0", "victim", "wa")


def test_list__an_empty_zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(zoo, "_FOLDER", tmp_path)
    assert run(["list", "agents"]).out == "There are none.\n"


def test_show__all_of_a_card(one_agent: Path, run: Run, printed: Callable[..., Any]) -> None:
    text = run(["zoo", "show", "victim-v0"]).out
    assert "log_benefit, log_age_closed" in text and "results ratio [test]" in text
    found = printed("zoo", "show", one_agent)
    assert found["command"] == "ssdgym train v1" and found["features"][0] == "log_benefit"
    assert found["results"] == {"ratio [test]": 1.01}


def test_export__by_name(one_agent: Path, tmp_path: Path, printed: Callable[..., Any]) -> None:
    header = tmp_path / "v.h"
    assert printed("zoo", "export", "victim-v0", "--out", header)["weight_bytes"] > 0
    assert "agent_choose" in header.read_text()
