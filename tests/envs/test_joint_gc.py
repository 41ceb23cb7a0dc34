"""`ssdgym/JointGC-v0`: victims, places and idle dies in one episode, exact where policies are played."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.engine.decisions import ERASE, IDLE, IDLE_STEPS, PLACE, RELOCATE
from ssdgym.envs import JointGCEnv, JointGCVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from tests.engine.devices import differences
from tests.envs.checking import (
    ValidActions,
    assert_gymnasium_is_content,
    assert_sb3_only_warns_of_the_shape,
)
from tests.envs.test_background_gc import BURSTS
from tests.envs.test_placement_identity import ASKED, HORIZON, SEED, WARMUP, WORKLOAD, spacious
from tests.envs.vector.compare import row

POLICIES = ("greedy", "cost_benefit(since_close=1)", "d_choices(d=3)")


def arguments(timing: str = "none", placement: str = "sep_gc", **changes: Any) -> dict[str, Any]:
    return {
        "device": spacious(timing, placement),
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "warmup": WARMUP,
        "proposers": POLICIES,
        "candidates": 5,
        "streams": None,
        "reward": "plain",
        **changes,
    }


def with_idle(preemptible: bool = True, **changes: Any) -> dict[str, Any]:
    """The arguments of an environment that asks for idle dies, too, under bursts."""
    gc = {"free_blocks": 2, "preemptible": preemptible, "idle": "threshold(blocks=6)"}
    return arguments(device=spacious("event", "sepbit", gc=gc), workload=BURSTS, idle=True, **changes)


def asked(env: JointGCEnv) -> int:
    """The kind of decision that is due."""
    return int(env.episodes.state.control["decision_kind"][0, 0])


def choice(info: dict[str, Any], victims: int, kind: int = ERASE) -> int:
    """The action of a victim policy, by its place among the proposers, with the device's own other rules."""
    if kind == IDLE:
        return int(info["proposed"][0])
    placed = info["proposed"][len(POLICIES)]
    return int(info["proposed"][victims] if placed < 0 else placed)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["sep_gc", "sepbit", "dac"])
@pytest.mark.parametrize("victims", range(len(POLICIES)))
def test_policies__compiled_and_played__the_same_device(timing: str, placement: str, victims: int) -> None:
    env = JointGCEnv(**arguments(timing, placement, placements=["mida"]))
    _, info = env.reset(seed=SEED)
    over = False
    while not over:
        _, _, _, over, info = env.step(choice(info, victims))
    sim = Simulator(env.episodes.devices[0], policy=POLICIES[victims], seed=SEED)
    sim.precondition(WORKLOAD)
    sim.run(WORKLOAD, host_pages=HORIZON, warmup=WARMUP, seed=SEED)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize("preemptible", [False, True])
@pytest.mark.parametrize("victims", range(len(POLICIES)))
def test_policies_with_an_idle_rule__compiled_and_played__the_same_device(
    victims: int, preemptible: bool
) -> None:
    env = JointGCEnv(**with_idle(preemptible, candidates=12))
    _, info = env.reset(seed=SEED)
    over, counts = False, dict.fromkeys((ERASE, PLACE, RELOCATE, IDLE), 0)
    while not over:
        kind = asked(env)
        counts[kind] += 1
        _, _, _, over, info = env.step(choice(info, victims, kind))
    assert min(counts.values()) > 50
    sim = Simulator(env.episodes.devices[0], policy=POLICIES[victims], seed=SEED)
    sim.precondition(BURSTS)
    sim.run(BURSTS, host_pages=HORIZON, warmup=WARMUP, seed=SEED)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (arguments("none", "sepbit", warmup=0), {ERASE, PLACE, RELOCATE}),
        (arguments("event", "sepbit", warmup=0), {ERASE, PLACE, RELOCATE}),
        (with_idle(warmup=0), {ERASE, PLACE, RELOCATE, IDLE}),
    ],
    ids=["none", "event", "idle"],
)
def test_vector__every_environment_is_the_single_one(options: dict[str, Any], expected: set[int]) -> None:
    vector, single = JointGCVectorEnv(3, **options), JointGCEnv(**options)
    seen, infos = vector.reset(seed=[SEED + 5, SEED, SEED + 9])
    alone, info = single.reset(seed=SEED)
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(700):
        for name, array in alone.items():
            np.testing.assert_array_equal(seen[name][1], array)
        np.testing.assert_array_equal(infos["proposed"][1], info["proposed"])
        assert row(infos, 1)["relocated_pages"] == info["relocated_pages"]
        kinds.add(asked(single))
        draw = rng.random(seen["action_mask"].shape)
        actions = np.where(seen["action_mask"] != 0, draw, -1).argmax(1)
        seen, rewards, _, _, infos = vector.step(actions)
        alone, reward, _, over, info = single.step(actions[1])
        assert reward == rewards[1] and not over
    assert kinds == expected
    assert differences(vector.episodes.state, 1, single.episodes.state, 0) == []


class ForCheckers(ValidActions, JointGCEnv):
    """Takes actions as the checkers draw them, without regard to masks."""


@pytest.mark.parametrize(
    "options", [arguments(), arguments("event"), with_idle()], ids=["none", "event", "idle"]
)
def test_checkers__of_gymnasium_and_stable_baselines3(options: dict[str, Any]) -> None:
    assert_gymnasium_is_content(ForCheckers(**options))
    assert_sb3_only_warns_of_the_shape(ForCheckers(**options))


@pytest.mark.parametrize("candidates", [3, 8], ids=["more streams", "more erase sets"])
def test_rows_and_columns__of_the_other_kind__masked_and_zero(candidates: int) -> None:
    env = JointGCEnv(**arguments(candidates=candidates, streams=5, features="all"))
    assert env.action_space.n == max(candidates, 5)
    names = env.metadata["features"]
    of_streams = np.array([name.startswith("stream_") for name in names["candidates"]])
    of_sets = ~of_streams & np.array([not name.startswith("proposed_by") for name in names["candidates"]])
    of_page = np.array([name.startswith(("page_", "request_")) for name in names["context"]])
    flags = [names["context"].index(f"asks_{kind}") for kind in ("erase", "place", "relocate")]
    observation, _ = env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(600):
        kind = asked(env)
        assert observation["context"][flags].tolist() == [kind == one for one in (ERASE, PLACE, RELOCATE)]
        mask, rows = observation["action_mask"] != 0, observation["candidates"]
        assert not rows[~mask].any()
        if kind == ERASE:
            assert not rows[:, of_streams].any() and not observation["context"][of_page].any()
        else:
            assert mask.tolist() == [k < 5 for k in range(len(mask))]
            assert not rows[:, of_sets].any() and rows[mask][:, of_streams].any()
        assert env.observation_space.contains(observation)
        observation, *_ = env.step(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("candidates", [3, 12], ids=["more answers", "more erase sets"])
def test_rows_and_columns__where_a_die_is_idle__of_its_answers_only(candidates: int) -> None:
    env = JointGCEnv(**with_idle(candidates=candidates, features="all"))
    assert env.action_space.n == max(candidates, len(IDLE_STEPS))
    names = env.metadata["features"]
    of_answers = np.array(
        [name.startswith("answer_") or name == "proposed_by_idle_rule" for name in names["candidates"]]
    )
    of_die = np.array([name.startswith("idle_") for name in names["context"]])
    flag = names["context"].index("asks_idle")
    observation, info = env.reset(seed=1)
    rng, seen = np.random.default_rng(0), 0
    for _ in range(900):
        kind, mask, rows = asked(env), observation["action_mask"] != 0, observation["candidates"]
        assert observation["context"][flag] == (kind == IDLE) and not rows[~mask].any()
        if kind == IDLE:
            seen += 1
            assert mask.tolist() == [k < len(IDLE_STEPS) for k in range(len(mask))]
            assert not rows[:, ~of_answers].any() and rows[mask][:, of_answers].any()
            picked = rows[:, names["candidates"].index("proposed_by_idle_rule")]
            assert np.flatnonzero(picked).tolist() == [info["proposed"][0]]
            assert info["proposed"][1:].tolist() == [-1] * len(POLICIES)
        else:
            assert not rows[:, of_answers].any() and not observation["context"][of_die].any()
        assert env.observation_space.contains(observation)
        observation, _, _, _, info = env.step(rng.choice(np.flatnonzero(mask)))
    assert seen > 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ftl": {"timing": "none"}}, "has no idle time; set ftl.timing to event"),
        ({"ftl": {"gc.idle": "oracle_gap"}}, "oracle_gap knows the future"),
        ({"idle": "threshold"}, "idle must be True or False, not 'threshold'; the rule that proposes is"),
    ],
    ids=str,
)
def test_idle__that_cannot_be_asked_for__refused(changes: dict[str, Any], message: str) -> None:
    options = {"ftl": {"gc.idle": None}, "idle": True, **changes}
    with pytest.raises(SsdgymError, match=message):
        JointGCEnv(**{**arguments("event"), **options})


def test_masked_row__refused() -> None:
    env = JointGCEnv(**arguments(candidates=8))
    env.reset(seed=1)
    with pytest.raises(SsdgymError, match=r"outside the action mask; choose one of \[0, 1\]"):
        env.step(7)


def test_gym_make__single_and_vector() -> None:
    single = gym.make("ssdgym/JointGC-v0", ftl={"timing": "none"}, horizon=50)
    vector = gym.make_vec("ssdgym/JointGC-v0", num_envs=2, ftl={"timing": "none"}, horizon=50)
    assert single.observation_space["candidates"].shape == (8, 20)
    assert vector.observation_space["candidates"].shape == (2, 8, 20)
