"""Cards of agents in the words of tables; the zoo holds what is small."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.zoo import zoo_agents
from ssdgym.agents.zoo.described import agents_in, described_agent, described_zoo
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from tests.agents.rules.agents import random_agent, saved_agent


@pytest.mark.parametrize(
    ("kind", "decides", "network", "features"),
    [
        ("victims", "victim", "scores of candidates, linear and 8 x 6 units", 8),
        ("linear streams", "placement", "ordinal with 6 and 6 actions, linear", 11),
        ("answers", "idle", "ordinal with 8 actions, linear and 8 units", 7),
        ("cold blocks", "levelling", "scores of candidates, linear and 8 x 6 units", 10),
    ],
)
def test_described__what_it_decides_by_what(
    kind: str, decides: str, network: str, features: int, tmp_path: Path
) -> None:
    (found,) = agents_in(f"{saved_agent(tmp_path, kind)}+x")
    assert (found.decides, found.network, len(found.features)) == (decides, network, features)
    assert found.as_dict()["weight_bytes"] == found.cost.weight_bytes > 0


def test_made__only_what_the_card_knows(tmp_path: Path) -> None:
    agent = random_agent("answers")
    known = {
        "command": "ssdgym train idle-v1",
        "suite": "latency",
        "split_digest": "abc",
        "training": {"seed": 3},
        "results": {"validation ratio": 0.97},
    }
    path = Agent(agent.scorer, agent.card.model_copy(update=known)).save(tmp_path / "idle.zip")
    found = described_agent(str(path)).as_dict()
    assert {name: found[name] for name in ("command", "suite", "split_digest", "seed", "results")} == {
        "command": "ssdgym train idle-v1",
        "suite": "latency",
        "split_digest": "abc",
        "seed": 3,
        "results": {"validation ratio": 0.97},
    }
    assert "command" not in described_agent(str(agent.save(tmp_path / "bare.zip"))).made


def test_agents_in__a_policy_without_any() -> None:
    assert list(agents_in("cost_benefit(since_close=1)+sepbit")) == []


def test_described__no_such_agent__says_where_to_look() -> None:
    with pytest.raises(SsdgymError, match="there is no agent nobody; give a path, or one of the zoo"):
        described_agent("nobody")


def test_described__damaged_weights__refused(tmp_path: Path) -> None:
    agent = random_agent("answers")
    next(agent.scorer.parameters()).data.fill_(float("nan"))
    with pytest.raises(SsdgymError, match=r"nan\.zip: its weights .* are not all finite"):
        described_agent(str(agent.save(tmp_path / "nan.zip")))


@pytest.mark.parametrize("name", sorted(zoo_agents()))
def test_zoo__every_agent_is_small_and_says_how_it_was_made(name: str) -> None:
    (found,) = (agent for agent in described_zoo() if agent.name == name)
    assert found.path.stat().st_size <= 1 << 20
    if not found.decides.startswith("ssdgym/"):  # what is no rule plays its environment
        with_victims = f"agent:{name}" if found.decides == "victim" else f"greedy+agent:{name}"
        assert name in get_policy(with_victims).label
    assert {"command", "suite", "split_digest"} <= found.made.keys() and found.card.results
