"""Decisions of whole episodes are kept with what the agent saw."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.environments import EnvironmentConfig, make_environment
from ssdgym.agents.understanding.recording import record
from ssdgym.envs.sb3 import SB3VecEnv
from tests.agents.understanding.agents import TakesMost


def test_record__toy__all_decisions_of_one_episode_each(toy) -> None:
    agent = TakesMost(toy.payoff)
    decisions, metrics = record(agent, SB3VecEnv(toy), first_seed=5)
    assert len(decisions) == toy.num_envs * toy.horizon
    assert len(metrics) == toy.num_envs
    assert decisions.candidates.shape[1:] == toy.single_observation_space["candidates"].shape
    assert decisions.proposed.shape == (len(decisions), 0)
    observation = {"candidates": decisions.candidates}
    again = agent.act(observation, decisions.mask, np.random.default_rng(0))
    np.testing.assert_array_equal(decisions.choices, again)


def test_record__episodes_of_different_length__only_the_first_of_each_environment() -> None:
    env = make_environment(EnvironmentConfig(), 2, ftl={"timing": "none"}, horizon=512, device="demo")
    decisions, metrics = record(TakesMost(0), env, first_seed=1)
    assert len(decisions) == sum(episode["gc_invocations"] for episode in metrics)
    assert decisions.mask[np.arange(len(decisions)), decisions.choices].all()
    assert decisions.proposed.shape[1] == 6 and (decisions.proposed[:, 0] >= 0).all()


def test_sample__drawn_by_seed__in_order_without_repeats(toy) -> None:
    decisions, _ = record(TakesMost(toy.payoff), SB3VecEnv(toy), first_seed=5)
    few, same, other = (decisions.sample(10, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(few.candidates, same.candidates)
    assert len(few) == 10 and not np.array_equal(few.candidates, other.candidates)
    assert len(decisions.sample(10**6)) == len(decisions)
