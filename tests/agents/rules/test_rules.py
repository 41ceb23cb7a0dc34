"""An agent inside the engine decides as its network in PyTorch does, decision for decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.rules import rule_named
from ssdgym.simulator import Simulator
from tests.agents.rules.agents import CARDS, random_agent, saved_agent
from tests.engine.devices import same_as

DECISIONS = 400
#: Cells that wear out, and none that comes to its end.
AGEING = {
    "base": "demo",
    "geometry.blocks_per_plane": 64,
    "capacity.over_provisioning": 0.25,
    "cells": {"endurance": {"mean": 5000}},
}

#: What is asked, so that the rule's own choice is told beside every question.
ASKED: dict[str, dict[str, Any]] = {
    "EraseVictim-v0": {"device": "demo", "ftl": {"timing": "none"}, "candidates": "all"},
    "Placement-v0": {"device": "demo-placement", "ftl": {"timing": "none"}, "streams": 6},
    "BackgroundGC-v0": {},
    "WearLevel-v0": {"device": AGEING, "ftl": {"timing": "none"}, "candidates": 70},
}
#: The field of the FTL that names a rule of the device's own, by the environment whose decision it takes.
OWN = {"Placement-v0": "placement", "WearLevel-v0": "levelling"}


def environment_that_asks(kind: str, rule: str) -> gym.vector.VectorEnv:
    """Make two environments in which a rule proposes what it would do."""
    card = CARDS[kind]
    name = card["environment"].removeprefix("ssdgym/")
    asked = {**ASKED[name]}
    if name == "EraseVictim-v0":
        asked["proposers"] = [rule]
    elif name in OWN:
        asked["ftl"] = {**asked["ftl"], OWN[name]: rule}
    else:
        asked["ftl"] = {"gc": {"idle": rule}}
    return gym.make_vec(
        card["environment"],
        num_envs=2,
        vectorization_mode="vector_entry_point",
        features=[*card["candidate_features"], *card["context_features"]],
        horizon=20_000,
        **asked,
    )


def chosen(env: gym.vector.VectorEnv, actions: np.ndarray) -> np.ndarray:
    """Return what actions name: blocks where the rule's own choice stands at the same place always."""
    if env.spec is None or env.spec.id != "ssdgym/WearLevel-v0":
        return actions
    sets = env.unwrapped.episodes.view.sets[np.arange(len(actions)), actions, 0]
    return np.where(sets["mask"] != 0, sets["block"], -1)


@pytest.mark.parametrize("kind", CARDS)
def test_agent_in_the_engine__decides_as_in_pytorch(tmp_path: Path, kind: str) -> None:
    seen = set()
    for seed in range(2):
        rule = saved_agent(tmp_path, kind, seed)
        env = environment_that_asks(kind, rule)
        agent = Agent.load(rule.removeprefix("agent:"), env)
        observation, info = env.reset(seed=3)
        for _ in range(DECISIONS):
            actions = agent.act(observation)
            # A die with nothing to collect is not asked: its only answer is to wait.
            asked = observation["action_mask"].sum(axis=-1) > 1
            np.testing.assert_array_equal(actions[asked], info["proposed"][asked, 0])
            seen |= set(chosen(env, actions)[asked].tolist())
            observation, _, _, _, info = env.step(actions)
        env.close()
    assert len(seen) > 2, "the agent is one that chooses"


def test_agent_in_the_engine__of_equal_placement__leaves_the_same_device_as_played(tmp_path: Path) -> None:
    rule = saved_agent(tmp_path, "streams")
    env = environment_that_asks("streams", rule)
    agent = Agent.load(rule.removeprefix("agent:"), env)
    observation, info = env.reset(seed=5)
    for _ in range(DECISIONS):
        observation, _, _, _, info = env.step(agent.act(observation))
    played = [one.metrics() for one in env.unwrapped.envs]
    observation, info = env.reset(seed=5)
    for _ in range(DECISIONS):
        observation, _, _, _, info = env.step(info["proposed"][:, 0])
    assert [one.metrics() for one in env.unwrapped.envs] == played


@pytest.mark.parametrize(
    ("device", "policy"),
    [
        ("demo-placement", "{victims}+sepbit"),
        ("demo-placement", "cost_benefit(since_close=1)+{streams}"),
        ("demo-placement", "{victims}+{streams}"),
        ("demo-placement", "cost_benefit(since_close=1)+{scored streams}"),
        ("demo-idle", "{victims}+{answers}"),
        ("demo-placement", "cost_benefit(since_close=1)+sepbit+least_worn+{cold blocks}"),
    ],
)
def test_agent__is_a_rule_by_name__alone_and_beside_others(tmp_path: Path, device: str, policy: str) -> None:
    names = {kind: saved_agent(tmp_path, kind, spread=0.05) for kind in CARDS}
    simulator = Simulator(device, policy=policy.format(**names), seed=1)
    metrics = simulator.run("zipf80", host_pages=20_000, seed=1)
    assert metrics["erases"] > 0
    assert 1.0 < metrics["write_amplification"] < 20.0


def test_untrained_victims__rank_as_cost_benefit(tmp_path: Path) -> None:
    # log_benefit counts half a valid page more, so that ranks differ where blocks have next to none
    agent = saved_agent(tmp_path, "linear victims", spread=0.0)
    found = [
        Simulator("demo", ftl={"timing": "none"}, policy=policy, seed=1).run(
            "zipf80", host_pages=40_000, warmup=20_000, seed=1
        )["write_amplification"]
        for policy in (agent, "cost_benefit")
    ]
    assert found[0] == pytest.approx(found[1], rel=0.01)


def test_agent__says_how_it_was_trained__and_its_code_has_its_weights(tmp_path: Path) -> None:
    rules = [rule_named(saved_agent(tmp_path, "victims", seed)) for seed in (0, 1)]
    assert rules[0].source.startswith("learned: ")
    assert rules[0].code != rules[1].code


def test_steady_state__of_a_file_that_was_trained_again__is_made_again(tmp_path: Path) -> None:
    def preconditioned() -> Simulator:
        policy = f"cost_benefit(since_close=1)+agent:{tmp_path}/again.zip"
        simulator = Simulator("demo-placement", ftl={"timing": "none"}, policy=policy)
        simulator.precondition("zipf80")
        return simulator

    random_agent("streams", seed=0).save(tmp_path / "again.zip")
    first = preconditioned()
    assert same_as(first, preconditioned())
    random_agent("streams", seed=1).save(tmp_path / "again.zip")
    assert not same_as(first, preconditioned())
