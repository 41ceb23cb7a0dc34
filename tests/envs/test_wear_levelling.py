"""`WearLevel-v0`: what its docs promise beside the contract of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.records import INDEXED, POOLED
from ssdgym.engine.decisions import LEVEL
from ssdgym.engine.view import view_arrays
from ssdgym.envs import DecisionEnv, WearLevelEnv, WearLevelVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy.on_device import rules_on
from tests.engine.devices import device, differences
from tests.envs.cases import MIXED, RUNS, compiled_run, play, playing, proposal, spacious

HORIZON, WARMUP, SEED = 700, 150, 11
#: What a device notes of the questions it is asked outside, and where a round has stopped that moves page by
#: page, so that there can be questions; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject", "plane.round_pair", "plane.round_page"}
RULE = "dual_pool(threshold=1)"


def arguments(model: Any, **changes: Any) -> dict[str, Any]:
    return {"device": model, "workload": MIXED, "horizon": HORIZON, "warmup": WARMUP, **changes}


def assert_same_device(env: DecisionEnv) -> dict[str, Any]:
    """Check that the device's own rule, played, leaves the device of the compiled run; return its metrics."""
    play(env, SEED, proposal(0))
    sim = compiled_run(env.episodes.devices[0], "greedy", MIXED, SEED, HORIZON, WARMUP)
    assert sim.metrics()["relocated_pages"] > 50
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED | {"block_memory", "stream_memory"}
    # Orders of blocks are repaired where they are looked at, which a question more does, too; but for them:
    for rule in rules_on(sim.device, "wear"):
        played, compiled = (
            view_arrays(state, 0, rule.memory, "wear") for state in (env.episodes.state, sim.state)
        )
        for part in ("block_memory", "stream_memory"):
            for field in getattr(compiled, part).dtype.names or ():
                if not field.endswith(("_winner", "_next", "_noted", "_head")):
                    assert (getattr(played, part)[field] == getattr(compiled, part)[field]).all(), field
    return sim.metrics()


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("rule", [RULE, "swl(threshold=3)", "rejuvenator(tau=2)"])
def test_levelling__compiled_and_played__the_same_device(timing: str, rule: str) -> None:
    model = spacious(timing, "sep_gc", 2, levelling=rule, block_allocation="least_worn")
    assert assert_same_device(WearLevelEnv(**arguments(model)))["levelling_rounds"] > 0


def test_sub_blocks__compiled_and_played__the_same_device() -> None:
    model = device(ftl={"levelling": RULE, "block_allocation": "least_worn"}, **RUNS)
    assert_same_device(WearLevelEnv(**arguments(model)))


def test_wear__compares_a_block_with_all_sub_blocks_of_its_plane() -> None:
    env = WearLevelEnv(**arguments(spacious("none", "sep_gc", 2), features=["wear"]))
    env.reset(seed=SEED)
    for _ in range(40):
        observation, *_ = env.step(0)
    state, view = env.episodes.state, env.episodes.view
    planes, blocks = (int(state.params[name][0, 0]) for name in ("planes", "blocks"))
    erases = state.sub_block["erases"][0].reshape(planes, blocks)  # a sub-block per block
    mean = erases[state.control["decision_plane"][0, 0]].mean()
    named = np.flatnonzero(view.sets[0, :, 0]["mask"])
    own = erases.ravel()[view.sets[0, named, 0]["block"]]
    assert mean > 0 and len(named) > 3
    expected = np.clip(2 * (own - mean) / (mean + 1), -2, 2)
    assert observation["candidates"][named, 0] == pytest.approx(expected, abs=1e-6)


def count_blocks(env: DecisionEnv, status: int) -> int:
    """The blocks with this status of the plane that the decision is about."""
    state = env.episodes.state
    own = state.block["plane"][0] == state.control["decision_plane"][0, 0]
    return int(np.count_nonzero(state.block["status"][0][own] & status))


def test_levelling__candidates_are_nothing_and_the_closed_blocks() -> None:
    env = WearLevelEnv(**arguments(spacious(), candidates=60, levelling=RULE))
    rng = np.random.default_rng(0)
    for observation in playing(env, SEED, rng):
        state = env.episodes.state
        assert observation["action_mask"].sum() == 1 + count_blocks(env, INDEXED)
        assert not observation["candidates"][0, :-1].any(), "all but whether it is proposed"
        assert state.control["decision_kind"][0, 0] == LEVEL
    metrics = env.metrics()
    assert metrics["lost_pages"] == 0
    assert metrics["levelling_rounds"] > 10


def test_wear_gap__is_of_the_most_worn_free_block_by_what_that_has_left() -> None:
    model = {"base": "lifetime-small", "geometry.blocks_per_plane": 48, "geometry.pages_per_block": 8}
    model |= {"capacity.over_provisioning": 0.3, "cells.endurance.mean": 200}
    options = {"candidates": 60, "features": ["log_wear_gap"], "horizon": 5_000, "ftl": {"timing": "none"}}
    env = WearLevelEnv(device=model, workload="hot90", **options)
    seen = 0
    for observation in playing(env, SEED, np.random.default_rng(0)):
        state, mask = env.episodes.state, observation["action_mask"] != 0
        erases, first = state.sub_block["erases"][0], state.endurance["first"][0]
        free = np.flatnonzero(state.block["status"][0] & POOLED)
        worn = int(free[erases[free] == erases[free].max()][0])
        if np.count_nonzero(erases[free] == erases[worn]) > 1:
            continue  # which of them was freed first is in the pool's list
        left = max(200 - (int(erases[worn]) - int(first[worn])), 5)
        blocks = env.episodes.view.sets[0, mask, 0]["block"][1:]
        gap = np.maximum(erases[worn] - erases[blocks].astype(float), 1e-6)
        expected = np.clip(np.log(gap / left) / np.log(4), -8, 8)
        assert observation["candidates"][mask, 0][1:] == pytest.approx(expected, abs=1e-5)
        seen += int((expected > -8).sum())
    assert seen > 100


def test_levelling__nothing_played__no_block_moves() -> None:
    env = WearLevelEnv(**arguments(spacious("event"), levelling=RULE))
    play(env, SEED, lambda info: 0)
    assert env.metrics()["levelling_rounds"] == 0


def test_levelling__reward_is_what_moves_and_wear_cost() -> None:
    objective = {"relocations": 1.0, "levelling": 0.01}
    env = WearLevelEnv(**arguments(spacious(), levelling=RULE, warmup=0))
    played = play(env, SEED, proposal(0))
    counters = env.episodes.state.counters[0, 0]
    blocks = counters["relocated_pages"] / 4
    cost = objective["relocations"] * blocks + objective["levelling"] * counters["erase_square_rise"]
    assert played.total == pytest.approx(-cost)


def test_vector__the_same_as_single_ones() -> None:
    options = arguments(spacious("event", "sepbit", 2), levelling=RULE)
    vector = WearLevelVectorEnv(2, **options)
    observations, info = vector.reset(seed=SEED)
    single = WearLevelEnv(**options)
    alone, own = single.reset(seed=SEED)
    for _ in range(200):
        for name in alone:
            assert np.array_equal(observations[name][0], alone[name]), name
        observations, *_, info = vector.step(info["proposed"][:, 0])
        alone, _, _, over, own = single.step(own["proposed"][0])
        if over:
            break


@pytest.mark.parametrize(
    ("make", "changes", "reason"),
    [
        (WearLevelEnv, {"candidates": 1}, "candidates must be a whole number from 2 to 4096, not 1"),
        (WearLevelEnv, {"levelling": "dual"}, "dual does not exist; did you mean dual_pool?"),
        (WearLevelEnv, {"device": "subftl-tiny"}, "ftl.mapping subpage never waits"),
        (WearLevelEnv, {"device": "pen-tiny"}, "ftl.mapping block never waits"),
        (
            WearLevelEnv,
            {"device": device(ftl={"placement": "hot_to_victims"}, **RUNS)},
            "set ftl.placement to one that writes to streams",
        ),
    ],
)
def test_arguments_that_make_no_sense__are_refused(
    make: type[DecisionEnv], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SsdgymError) as caught:
        make(**changes).reset(seed=1)
    assert reason in str(caught.value)
