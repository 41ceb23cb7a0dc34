"""What is no rule is refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard
from ssdgym.agents.networks import network_of
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from tests.agents.rules.agents import CARDS


def saved(folder: Path, **changes: Any) -> str:
    """Save a victim agent whose card is changed; return it as a policy."""
    card = AgentCard.model_validate({"algorithm": "none", "decisions": 0, **CARDS["victims"], **changes})
    return f"agent:{Agent(network_of(card), card).save(folder / 'agent.zip')}"


def test_agent__that_is_not_there__says_what_is(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="there is no such agent .* ssdgym list agents"):
        get_policy(f"agent:{tmp_path}/nothing.zip")


def test_agent__that_is_no_agent__is_named(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("nothing")
    with pytest.raises(SsdgymError, match=r"text\.zip: not an agent"):
        get_policy(f"agent:{tmp_path}/text.zip")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"candidate_features": ["log_benefit", "log_age", "wear"]}, "feature wear is not known to a rule"),
        ({"context_features": ["elapsed"]}, "feature elapsed is not known to a rule"),
        ({"scorer": {"hidden": [8]}}, "train it with pooling: none"),
        ({"scorer": {"hidden": [65], "pooling": "none"}}, "has 65 units in a layer, and a rule can have 64"),
        ({"environment": "ssdgym/ParallelErase-v0"}, "is no rule; play it as --agent"),
        ({"environment": "ssdgym/Placement-v0"}, "feature log_benefit is not known to a rule"),
        (
            {
                "environment": "ssdgym/Placement-v0",
                "candidate_features": ["stream_number"],
                "scorer": {"hidden": [8], "pooling": "none", "start": "none"},
                "training": {"environment": {"kwargs": {"streams": None}}},
            },
            "does not say how many streams",
        ),
    ],
)
def test_agent__that_cannot_be_a_rule__says_why(tmp_path: Path, changes: Any, reason: str) -> None:
    with pytest.raises(SsdgymError, match=reason):
        get_policy(saved(tmp_path, **changes))


def test_agent__of_the_wrong_kind_of_rule__is_refused_as_others_are(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="names the victim rule agent:.* beside greedy; leave one"):
        get_policy(f"greedy+{saved(tmp_path)}")
