"""Agents play SpeedupGC's placement on its own device, in `Placement-v0` and `JointGC-v0`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.train import train
from ssdgym.config.loading import load_config
from ssdgym.engine.decisions import ERASE, PLACE, RELOCATE
from ssdgym.envs import DecisionEnv, JointGCEnv, PlacementEnv
from ssdgym.envs.features import feature
from ssdgym.policy import (
    MAX_STREAMS,
    POOLED,
    blocks_of,
    first_writable,
    placement_policy,
    whole_mask,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import differences
from tests.envs.cases import compiled_run, play, valid
from tests.envs.test_placement_identity import ASKED

DEVICE, WORKLOAD = "speedupgc-64l-small", "hot90"
HORIZON, SEED = 4000, 7
#: The stream, and the sub-block that the placement names.
STREAM, TARGET = 0, 1
#: An order of blocks is repaired where its first is looked for, which a shown proposal does once more.
REPAIRED = {"block_memory", "stream_memory"}
#: The records of the features lie beside those of the placement.
BESIDE = {"page_memory", "memory", "params.memory_at"}


def options(**changes: Any) -> dict[str, Any]:
    return {
        "device": DEVICE,
        "ftl": {"timing": "none", "placement": "hotness_groups"},
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "warmup": 0,
        "streams": None,
        "reward": "plain",
        **changes,
    }


def kind_of(env: DecisionEnv) -> int:
    return int(env.episodes.state.control["decision_kind"][0, 0])


def test_speedupgc__played_through_placement__the_bits_of_the_compiled_run() -> None:
    env = PlacementEnv(**options(victims="gsm"))
    chosen = []

    def propose(info: dict[str, Any]) -> int:
        chosen.append((kind_of(env), int(info["proposed"][0])))
        return chosen[-1][1]

    play(env, SEED, propose)
    assert {kind for kind, _ in chosen} == {PLACE, RELOCATE}
    assert {action for _, action in chosen} == {TARGET}, "SpeedupGC scatters every page"
    plain = Simulator(DEVICE, ftl={"timing": "none"}, policy="speedupgc", seed=SEED)
    plain.precondition(WORKLOAD)
    plain.run(WORKLOAD, host_pages=HORIZON, seed=SEED)
    assert plain.metrics()["relocated_pages"] > 100
    sim = compiled_run(env.episodes.devices[0], "gsm", WORKLOAD, SEED, HORIZON, 0)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED | REPAIRED
    assert set(differences(env.episodes.state, 0, plain.state, 0)) <= ASKED | REPAIRED | BESIDE


def test_speedupgc__played_through_joint_gc__the_bits_of_the_compiled_run() -> None:
    env = JointGCEnv(**options(proposers=["gsm", "greedy"]))
    kinds = []

    def propose(info: dict[str, Any]) -> int:
        kinds.append(kind_of(env))
        return int(info["proposed"][0 if kinds[-1] == ERASE else 2])

    play(env, SEED, propose)
    assert set(kinds) == {ERASE, PLACE, RELOCATE}
    sim = compiled_run(env.episodes.devices[0], "gsm", WORKLOAD, SEED, HORIZON, 0)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED | REPAIRED


@placement_policy("lowest_for_test", source="a test", targets=True, relocation_streams=0)
def lowest(view: Any, plane: Any, lpn: Any, source: Any, parameters: Any) -> Any:
    """Put every page into the lowest block of the pool."""
    for block in blocks_of(view, plane):
        if view.block[block].status & POOLED:
            return MAX_STREAMS + first_writable(view, block, whole_mask(view))
    return 0


def test_speedupgc__proposed_beside_another_placement__the_map_of_its_compiled_run() -> None:
    changes = {"ftl": {"timing": "none", "placement": "lowest_for_test"}, "preconditioning": "none"}
    env = PlacementEnv(**options(victims="gsm", proposers=["hotness_groups"], **changes, horizon=20_000))
    chosen = []

    def propose(info: dict[str, Any]) -> int:
        chosen.append(int(info["proposed"][1]))
        return chosen[-1]

    played = play(env, SEED, propose)
    sim = Simulator(DEVICE, ftl={"timing": "none"}, policy="speedupgc", seed=SEED)
    found = sim.run(WORKLOAD, host_pages=20_000, seed=SEED)
    assert {STREAM, TARGET + 1} <= set(chosen)
    assert played.metrics["write_amplification"] == found["write_amplification"]
    assert np.array_equal(env.episodes.state.logical[0], sim.state.logical[0])


@pytest.mark.usefixtures("own_registrations")
def test_decision_candidates__proposers_of_one_place__are_counted_once() -> None:
    name = "candidates_for_test"

    @feature(high=1e6)
    def candidates_for_test(view: Any, decision: Any) -> Any:
        """Return the number of candidates that may be chosen."""
        return decision.candidates

    changes = {"ftl": {"timing": "none", "placement": "lowest_for_test"}, "preconditioning": "none"}
    proposers = ["single", "hotness_groups"]  # the first picks row 0, so row 2 is unused
    env = PlacementEnv(
        **options(victims="gsm", proposers=proposers, features=["stream_valid", name], **changes)
    )
    counted = []

    def propose(info: dict[str, Any]) -> int:
        observed = env.observation()
        counted.append((int(observed["context"][0]), int(observed["action_mask"].sum())))
        return int(info["proposed"][2])

    play(env, SEED, propose)
    assert all(candidates == allowed for candidates, allowed in counted)
    assert {allowed for _, allowed in counted} == {2, 3}


@pytest.mark.parametrize("environment", [PlacementEnv, JointGCEnv])
def test_random_agent__streams_and_sub_blocks__loses_nothing(environment: type[DecisionEnv]) -> None:
    changes = {"victims": "gsm"} if environment is PlacementEnv else {"proposers": ["gsm", "greedy"]}
    env, rng = environment(**options(**changes)), np.random.default_rng(SEED)
    random, placed = valid(env, rng), []

    def choose(info: dict[str, Any]) -> int:
        action = random(info)
        if kind_of(env) != ERASE:
            placed.append(action)
        return action

    played = play(env, SEED, choose)
    assert played.metrics["lost_pages"] == 0
    counts = np.bincount(placed, minlength=2)
    assert counts[STREAM] > len(placed) / 3 and counts[TARGET] > len(placed) / 3


def test_ppo__at_smoke_size__trains_on_streams_and_sub_blocks(tmp_path: Path) -> None:
    fields = load_config(TrainConfig, "ppo-smoke", "training").model_dump()
    environment = {"id": "ssdgym/Placement-v0", "kwargs": options(victims="gsm", horizon=512)}
    sizes = {"total_decisions": 512, "checkpoint_decisions": 512, "scorer": {"start": "none"}}
    config = TrainConfig.model_validate({**fields, **sizes, "environment": environment})
    train(config, tmp_path / "run", progress=False)
    agent = Agent.load(tmp_path / "run" / "agent-last.zip")
    env, chosen, rng = PlacementEnv(**options(victims="gsm")), set(), np.random.default_rng(SEED)
    observation, _ = env.reset(seed=SEED)
    for _ in range(200):
        action = int((agent.scores(observation) + rng.gumbel(size=2)).argmax())  # a draw from the softmax
        chosen.add(action)
        observation, *_ = env.step(action)
    assert chosen == {STREAM, TARGET}
    assert {"stream_near_erase", "stream_in_best_set"} <= set(agent.card.candidate_features)
