"""`ssdgym/JointGC-v0`: victims, places and idle dies in one episode, exact where policies are played."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.decisions import ERASE, IDLE, IDLE_STEPS, PLACE, RELOCATE
from ssdgym.envs import JointGCEnv
from ssdgym.errors import SsdgymError
from tests.engine.devices import differences
from tests.envs import cases
from tests.envs.cases import BURSTS, MIXED, VICTIMS, bursting, compiled_run, play, spacious
from tests.envs.test_placement_identity import ASKED, HORIZON, SEED, WARMUP

options = partial(cases.options, "JointGC")


def asked(env: JointGCEnv) -> int:
    """The kind of decision that is due."""
    return int(env.episodes.state.control["decision_kind"][0, 0])


def choice(info: dict[str, Any], victims: int, kind: int = ERASE) -> int:
    """The action of a victim policy, by its place among the proposers, with the device's own other rules."""
    if kind == IDLE:
        return int(info["proposed"][0])
    placed = info["proposed"][len(VICTIMS)]
    return int(info["proposed"][victims] if placed < 0 else placed)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["sep_gc", "sepbit", "dac"])
@pytest.mark.parametrize("victims", range(len(VICTIMS)))
def test_policies__compiled_and_played__the_same_device(timing: str, placement: str, victims: int) -> None:
    env = JointGCEnv(**options(device=spacious(timing, placement, 2), placements=["mida"]))
    play(env, SEED, lambda info: choice(info, victims))
    sim = compiled_run(env.episodes.devices[0], VICTIMS[victims], MIXED, SEED, HORIZON, WARMUP)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize("preemptible", [False, True])
@pytest.mark.parametrize("victims", range(len(VICTIMS)))
def test_policies_with_an_idle_rule__compiled_and_played__the_same_device(
    victims: int, preemptible: bool
) -> None:
    env = JointGCEnv(**options(candidates=12, **bursting(preemptible)))
    _, info = env.reset(seed=SEED)
    over, counts = False, dict.fromkeys((ERASE, PLACE, RELOCATE, IDLE), 0)
    while not over:
        kind = asked(env)
        counts[kind] += 1
        _, _, _, over, info = env.step(choice(info, victims, kind))
    assert min(counts.values()) > 50
    sim = compiled_run(env.episodes.devices[0], VICTIMS[victims], BURSTS, SEED, HORIZON, WARMUP)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED


@pytest.mark.parametrize("candidates", [3, 8], ids=["more streams", "more erase sets"])
def test_rows_and_columns__of_the_other_kind__masked_and_zero(candidates: int) -> None:
    env = JointGCEnv(**options(device=spacious(planes=2), candidates=candidates, streams=5, features="all"))
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
    env = JointGCEnv(**options("idle", candidates=candidates, features="all"))
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
            assert info["proposed"][1:] == [-1] * len(VICTIMS)
        else:
            assert not rows[:, of_answers].any() and not observation["context"][of_die].any()
        assert env.observation_space.contains(observation)
        observation, _, _, _, info = env.step(rng.choice(np.flatnonzero(mask)))
    assert seen > 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ftl": {"timing": "none"}}, "has no idle time; set ftl.timing to event"),
        ({"ftl": {"gc.idle": "oracle_gap"}}, "oracle_gap uses the future"),
        ({"idle": "threshold"}, "idle must be True or False, not 'threshold'; the rule that proposes is"),
    ],
    ids=str,
)
def test_idle__that_cannot_be_asked_for__refused(changes: dict[str, Any], message: str) -> None:
    given = {"ftl": {"gc.idle": None}, "idle": True, **changes}
    with pytest.raises(SsdgymError, match=message):
        JointGCEnv(**options("timed", **given))


def test_masked_row__refused() -> None:
    env = JointGCEnv(**options(device=spacious(planes=2), candidates=8))
    env.reset(seed=1)
    with pytest.raises(SsdgymError, match=r"outside the action mask; choose one of \[0, 1\]"):
        env.step(7)
