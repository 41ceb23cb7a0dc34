"""Agreement counts the decisions in which an agent chooses what a heuristic picks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssdgym.agents.environments import EnvironmentConfig, make_environment
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.understanding.agreement import agreement
from ssdgym.agents.understanding.distill import LinearRule
from ssdgym.agents.understanding.recording import Decisions, record
from ssdgym.envs.erase_victim import DEFAULT_PROPOSERS
from ssdgym.errors import SsdgymError


def decided(choices: list[int], proposed: list[list[int]]) -> Decisions:
    """Decisions among two valid candidates and one that is not."""
    count = len(choices)
    mask = np.tile([True, True, False], (count, 1))
    names = FeatureNames(("a",), ("b",))
    nothing = np.zeros((count, 3, 1), np.float32), np.zeros((count, 1), np.float32)
    return Decisions(names, *nothing, mask, np.array(choices), np.array(proposed))


def test_agreement__share_of_choices_that_are_the_pick() -> None:
    found = agreement(decided([0, 1, 1, 0], [[0, 1], [1, 0], [0, 0], [1, 1]]), ["greedy", "fifo"])
    assert found == {"greedy": 0.5, "fifo": 0.0, "any of them": 0.5, "chance": 0.5}


def test_agreement__no_pick__the_decision_does_not_count_for_that_one() -> None:
    found = agreement(decided([0, 1], [[0, -1], [-1, -1]]), ["greedy", "fifo"])
    assert found["greedy"] == 1.0 and math.isnan(found["fifo"]) and found["any of them"] == 0.5


def test_agreement__wrong_number_of_names__refused() -> None:
    with pytest.raises(SsdgymError, match="1 names for 2 proposers"):
        agreement(decided([0], [[0, 1]]), ["greedy"])


def test_agreement__an_agent_that_plays_a_heuristic__is_one() -> None:
    env = make_environment(EnvironmentConfig(), 2, ftl={"timing": "none"}, horizon=512)
    names = FeatureNames.of(env.vector_env)
    greedy = LinearRule(names, np.array([name == "proposed_by_greedy" for name in names.candidates]))
    decisions, _ = record(greedy, env, first_seed=1)
    found = agreement(decisions, DEFAULT_PROPOSERS)
    assert found["greedy"] == found["any of them"] == 1.0
    assert found["random"] < 0.5 and found["chance"] == pytest.approx(1 / 16)
