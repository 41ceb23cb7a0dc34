"""Rules that are fitted to an agent's choices choose as it does."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.understanding.distill import (
    LinearRule,
    RowRule,
    chosen_of,
    columns_of,
    linear_rule,
    rows_of,
)
from ssdgym.agents.understanding.recording import Decisions, record
from ssdgym.envs.sb3 import SB3VecEnv
from tests.agents.toy import ToyVectorEnv
from tests.agents.understanding.agents import TakesMost


def recorded(toy: ToyVectorEnv, first_seed: int) -> Decisions:
    names = FeatureNames.of(toy)
    agent = LinearRule(names, np.linspace(-1, 1, len(names.candidates)))
    return record(agent, SB3VecEnv(toy), first_seed)[0]


def agree(agent, decisions: Decisions) -> float:
    """The share of decisions in which an agent makes the recorded choice."""
    observation = {"candidates": decisions.candidates, "context": decisions.context}
    return (agent.act(observation, decisions.mask, np.random.default_rng(0)) == decisions.choices).mean()


def test_linear_rule__of_a_linear_agent__its_weights_but_for_a_factor(toy) -> None:
    rule = linear_rule(recorded(toy, 5))
    assert agree(rule, recorded(toy, 99)) > 0.95
    assert tuple(rule.terms) == toy.metadata["features"]["candidates"]
    expected = np.linspace(-1, 1, len(rule.weights))
    assert np.corrcoef(rule.weights, expected)[0, 1] > 0.99


def test_linear_rule__a_feature_that_never_differs__has_no_weight(toy) -> None:
    decisions = recorded(toy, 5)
    decisions.candidates[..., 0] = 0.25
    rule = linear_rule(decisions)
    assert rule.weights[0] == 0.0 and np.isfinite(rule.weights).all()


def test_rows__one_for_each_valid_candidate__with_the_distance_to_the_best(toy) -> None:
    decisions = recorded(toy, 5)
    rows, chosen, names = rows_of(decisions), chosen_of(decisions), columns_of(decisions.names)
    assert rows.shape == (decisions.mask.sum(), len(names)) and chosen.sum() == len(decisions)
    own, below = rows[:, 0], rows[:, names.index(f"{decisions.names.candidates[0]} below best")]
    first = decisions.mask[0].sum()
    np.testing.assert_allclose(below[:first], own[:first].max() - own[:first])
    assert (rows[:first, -1] == decisions.context[0, -1]).all()


def test_row_rule__a_tree_of_scikit_learn__chooses_as_the_agent(toy) -> None:
    tree = pytest.importorskip("sklearn.tree")
    decisions = record(TakesMost(toy.payoff), SB3VecEnv(toy), 5)[0]
    fitted = tree.DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
    fitted.fit(rows_of(decisions), chosen_of(decisions))
    other = record(TakesMost(toy.payoff), SB3VecEnv(toy), 99)[0]
    assert agree(RowRule(fitted), other) > 0.95
