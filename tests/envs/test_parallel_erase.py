"""`ssdgym/ParallelErase-v0`: what its docs promise of erase sets of several blocks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sb3_contrib import MaskablePPO

from ssdgym.envs import EraseVictimEnv, ParallelEraseEnv, ParallelEraseVectorEnv
from ssdgym.envs.erase_victim import PARALLEL_PROPOSERS
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import copy_device, restore_device
from tests.engine.devices import device, differences, full_device
from tests.envs.checking import (
    ValidActions,
    assert_gymnasium_is_content,
    assert_sb3_only_warns_of_the_shape,
)

ENV_ID = "ssdgym/ParallelErase-v0"
#: A threshold of some blocks, so that there is room for the pages of several before they are erased.
ROOMY = {"gc": {"free_blocks": 5}}
SHAPE = {"blocks_per_plane": 32, "sub_blocks_per_block": 4, "planes_per_die": 2}
KINDS: dict[str, dict[str, Any]] = {
    "blocks": {"device": device({"blocks_per_plane": 32}, ROOMY)},
    "timed": {
        "device": device(SHAPE, {**ROOMY, "timing": "event", "queue_depth": 8}),
        "objective": {"latency": 1.0},
    },
    "runs": {"device": device(SHAPE, ROOMY, erase_unit="sub_block_run", isolation="software")},
    "sets": {"device": device(SHAPE, ROOMY, erase_unit="sub_block_set")},
    "relaxed": {"device": device(SHAPE, ROOMY, multi_plane="relaxed")},
    "strict": {"device": device(SHAPE, ROOMY, multi_plane="strict")},
    "eight": {"device": device({"blocks_per_plane": 32}, ROOMY), "most_blocks": 8},
}
each_kind = pytest.mark.parametrize("kind", KINDS)

#: The sub-blocks of each block of an erase set, in the order in which they are moved.
ErasedTogether = tuple[tuple[int, int], ...]


def options(kind: str = "blocks", **changes: Any) -> dict[str, Any]:
    return {
        "workload": "zipf80",
        "horizon": 400,
        "candidates": 12,
        "objective": {"relocations": 1.0},
        "reward": "plain",
        **KINDS[kind],
        **changes,
    }


def any_valid(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def offered(env: ParallelEraseEnv) -> list[ErasedTogether]:
    """The candidates that may be chosen now."""
    sets = env.episodes.view.sets[0][env.action_masks()]
    return [tuple((int(p["block"]), int(p["mask"])) for p in pairs if p["mask"]) for pairs in sets]


class ForCheckers(ValidActions, ParallelEraseEnv):
    """Takes actions as the checkers draw them, without regard to masks."""


@each_kind
def test_gymnasium_check__no_warning(kind: str) -> None:
    assert_gymnasium_is_content(ForCheckers(**options(kind)))


def test_gymnasium_check__as_made_by_default__no_warning() -> None:
    assert_gymnasium_is_content(gym.make(ENV_ID), render=True)


def test_stable_baselines3_check__only_the_warning_about_the_shape_of_candidates() -> None:
    assert_sb3_only_warns_of_the_shape(ForCheckers(**options("relaxed")))


def test_spaces__those_of_erase_victim() -> None:
    arguments = options()
    parallel = ParallelEraseEnv(**arguments, features=["default", "moves", "share"])
    victim = EraseVictimEnv(**arguments, features=["default", "moves", "share"])
    named, victims = (env.metadata["features"]["candidates"] for env in (parallel, victim))
    assert {n for n in named if "proposed" not in n} == {n for n in victims if "proposed" not in n}
    assert parallel.observation_space["context"] == victim.observation_space["context"]
    assert parallel.action_space == victim.action_space


@each_kind
def test_episode__truncated_at_exactly_the_horizon__observations_inside_their_space(kind: str) -> None:
    env = ParallelEraseEnv(**options(kind))
    rng = np.random.default_rng(0)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            assert env.observation_space.contains(observation)
            masked = observation["action_mask"] == 0
            assert not observation["candidates"][masked].any()
            observation, reward, terminated, over, info = env.step(any_valid(observation["action_mask"], rng))
            assert np.isfinite(reward) and not terminated
        assert env.observation_space.contains(observation)
        assert info["metrics"]["host_pages_written"] == info["host_pages_written"] == 400
        assert info["metrics"]["lost_pages"] == 0


@each_kind
def test_candidates__sets_of_one_to_most_blocks__legal_and_without_repeats(kind: str) -> None:
    """Every candidate is carried out on a copy of the device by a simulator, which refuses illegal ones."""
    arguments = options(kind, proposers=("greedy", "cost_benefit"))
    env = ParallelEraseEnv(**arguments)
    most = arguments.get("most_blocks", 4)
    alone = Simulator(env.episodes.devices[0], policy=None)
    rng = np.random.default_rng(1)
    lengths: Counter[int] = Counter()
    env.reset(seed=1)
    over = False
    while not over:
        sets = offered(env)
        assert len(set(sets)) == len(sets)
        lengths.update(len(pairs) for pairs in sets)
        if env.episodes.state.counters["host_pages_written"][0, 0] < 150:
            for pairs in sets:
                restore_device(alone.arrays, 0, copy_device(env.episodes.state, 0))
                alone.apply(list(pairs))
        *_, over, _ = env.step(any_valid(env.action_masks(), rng))
    assert min(lengths) == 1 and max(lengths) <= most
    assert set(range(1, min(most, 4) + 1)) <= set(lengths), "sets of several blocks do occur"


@each_kind
def test_candidates__first_the_picks_of_the_proposers(kind: str) -> None:
    proposers = ("greedy", "ippbe(limit=3, tau=2)", "ippbe(limit=1)", "random")
    env = ParallelEraseEnv(**options(kind, proposers=proposers))
    rng = np.random.default_rng(1)
    _, info = env.reset(seed=1)
    several, over = 0, False
    while not over:
        assert info["proposed"][0] == 0
        assert env.action_masks()[info["proposed"]].all()
        sets = offered(env)
        greedy, together = (sets[info["proposed"][k]] for k in (0, 1))
        assert len(greedy) == 1
        several += len(together) > 1
        _, _, _, over, info = env.step(any_valid(env.action_masks(), rng))
    assert several > 5


def test_features__of_several_blocks__their_sums_and_the_youngest_age() -> None:
    names = ["valid_fraction", "log_age", "log_age_closed", "moves", "gain", "share"]
    env = ParallelEraseEnv(**options("sets"), features=names)
    rng = np.random.default_rng(2)
    observation, _ = env.reset(seed=2)
    config = env.episodes.devices[0]
    per_block, s = config.geometry.pages_per_block, config.geometry.sub_blocks_per_block
    over = False
    while not over:
        state = env.episodes.state
        clock = int(state.control["clock"][0, 0])
        rows = observation["candidates"][env.action_masks()]
        for pairs, row in zip(offered(env), rows, strict=True):
            units = [b * s + k for b, mask in pairs for k in range(s) if mask >> k & 1]
            blocks = state.block[0][[b for b, _ in pairs]]
            invalid = int(state.sub_block["invalid"][0, units].sum())
            valid = int(state.sub_block["written"][0, units].sum()) - invalid
            ages = [clock - blocks[since].max() + 1 for since in ("invalidated_at", "closed_at")]
            expected = [
                2 * valid / max(valid + invalid, 1) - 1,
                np.log2(100 * ages[0] / config.logical_pages) / 2,
                np.log2(10 * ages[1] / config.logical_pages) / 2,
                valid / per_block,
                invalid / per_block,
                len(units) / s,
            ]
            np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)
        observation, _, _, over, _ = env.step(any_valid(env.action_masks(), rng))


@each_kind
def test_step__outside_the_mask__refused_with_everything_as_it_was(kind: str) -> None:
    env = ParallelEraseEnv(**options(kind))
    env.reset(seed=0)
    view_before = [array.copy() for array in env.episodes.view]
    before = copy_device(env.episodes.state, 0)
    with pytest.raises(SsdgymError, match=r"action 12 of environment 0 is outside the action mask"):
        env.step(12)
    assert differences(env.episodes.state, 0, before, 0) == []
    env.episodes.observe_again()
    for was, now in zip(view_before, env.episodes.view, strict=True):
        np.testing.assert_array_equal(was, now)


def test_step__a_place_left_empty__refused_with_everything_as_it_was() -> None:
    """On a plane of few victims the table is not filled."""
    env = ParallelEraseEnv(**options(device=full_device(ftl={"placement": "single"}), candidates=200))
    env.reset(seed=0)
    empty = int(np.argmin(env.action_masks()))
    assert not env.action_masks()[empty]
    before = copy_device(env.episodes.state, 0)
    with pytest.raises(SsdgymError, match=f"action {empty} of environment 0 is outside the action mask"):
        env.step(empty)
    assert differences(env.episodes.state, 0, before, 0) == []


@each_kind
def test_observe__ten_times__changes_nothing(kind: str) -> None:
    env = ParallelEraseEnv(**options(kind))
    rng = np.random.default_rng(3)
    env.reset(seed=3)
    for _ in range(15):
        before = copy_device(env.episodes.state, 0)
        view_before = [array.copy() for array in env.episodes.view]
        for _ in range(10):
            env.episodes.observe_again()
        assert differences(env.episodes.state, 0, before, 0) == []
        for was, now in zip(view_before, env.episodes.view, strict=True):
            np.testing.assert_array_equal(was, now)
        env.step(any_valid(env.action_masks(), rng))


@each_kind
def test_step__erases_the_sub_blocks_of_the_candidate_and_no_others(kind: str) -> None:
    untimed = {**options(kind), "ftl": {"timing": "none"}, "objective": {"relocations": 1.0}}
    env = ParallelEraseEnv(**untimed, proposers=("ippbe(limit=4, tau=2)", "random"))
    s = env.episodes.devices[0].geometry.sub_blocks_per_block
    rng = np.random.default_rng(5)
    env.reset(seed=5)
    over = False
    while not over:
        action = any_valid(env.action_masks(), rng)
        units = [b * s + k for b, mask in offered(env)[action] for k in range(s) if mask >> k & 1]
        erases = env.episodes.state.sub_block["erases"][0].copy()
        *_, over, _ = env.step(action)
        erases[units] += 1
        np.testing.assert_array_equal(env.episodes.state.sub_block["erases"][0], erases)


@st.composite
def devices(draw: st.DrawFn) -> dict[str, Any]:
    """Devices of many shapes, with more and with less room for several blocks."""
    sub_blocks = draw(st.sampled_from([1, 2, 4]))
    geometry = {
        "planes_per_die": draw(st.integers(1, 3)),
        "blocks_per_plane": draw(st.integers(10, 24)),
        "sub_blocks_per_block": sub_blocks,
        "pages_per_block": sub_blocks * draw(st.integers(1, 8)),
    }
    ftl = {
        "timing": draw(st.sampled_from(["none", "event"])),
        "allocation": draw(st.sampled_from(["static", "dynamic"])),
        "placement": draw(st.sampled_from(["single", "sep_gc"])),
        "gc": {
            "free_blocks": draw(st.integers(2, 5)),
            "mode": draw(st.sampled_from(["barrier", "per_write"])),
        },
    }
    unit = draw(st.sampled_from(["block", "sub_block_run", "sub_block_set"][: 3 if sub_blocks > 1 else 1]))
    fields = {
        "erase_unit": unit,
        "isolation": draw(st.sampled_from(["none", "software"])) if unit != "block" else "none",
        "multi_plane": draw(
            st.sampled_from(["none"] if geometry["planes_per_die"] == 1 else ["none", "strict", "relaxed"])
        ),
    }
    full = full_device(geometry, ftl, **fields)
    pages = max(int(full.logical_pages * draw(st.sampled_from([1.0, 0.8]))), 1)
    return {"geometry": geometry, "ftl": ftl, **fields, "logical_pages": pages}


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(devices(), st.integers(2, 8), st.sampled_from([2, 12]), st.integers(1, 150), st.integers(0, 2**32))
def test_observations__any_device__inside_the_space_and_never_without_a_valid_action(
    fields: dict[str, Any], most_blocks: int, candidates: int, horizon: int, seed: int
) -> None:
    env = ParallelEraseEnv(
        device=device(**fields),
        workload={"kind": "uniform", "trim_fraction": 0.3, "read_fraction": 0.2},
        objective={"relocations": 1.0},
        horizon=horizon,
        candidates=candidates,
        most_blocks=most_blocks,
        proposers=("greedy", "ippbe(limit=8, tau=2)"),
    )
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        assert env.observation_space.contains(observation), observation
        observation, _, _, over, info = env.step(any_valid(observation["action_mask"], rng))
    assert env.observation_space.contains(observation), observation
    assert observation["action_mask"].any()
    assert info["metrics"]["host_pages_written"] == horizon
    assert info["metrics"]["lost_pages"] == 0


# -- reward --------------------------------------------------------------------------------------------------

#: Term -> the same from the metrics; a program takes 600 ns, a move 12 uJ, an erase of a block 20 uJ.
BY_METRICS = {
    "relocations": lambda m: -m["relocated_pages"] / 8,
    "wear": lambda m: -m["erased_sub_blocks"] / 4,
    "energy": lambda m: -(m["relocated_pages"] * 12 + m["erased_sub_blocks"] / 4 * 20) / (12 * 8),
    "latency": lambda m: (
        -sum(m[name]["mean"] * m[name]["count"] for name in ("read_latency_ns", "write_latency_ns")) / 600
    ),
    "tail": lambda m: -m["slow_requests"],
}


@pytest.mark.parametrize("copyback", [False, True])
@pytest.mark.parametrize("unit", ["block", "sub_block_set"])
@pytest.mark.parametrize("term", BY_METRICS)
def test_return__of_one_term__is_exactly_what_the_metrics_say(term: str, unit: str, copyback: bool) -> None:
    gc = {"free_blocks": 5, "copyback": copyback}
    config = device(SHAPE, {"timing": "event", "gc": gc}, erase_unit=unit, multi_plane="relaxed")
    proposers = ("greedy", "ippbe(limit=3, tau=2)")
    arguments = options(device=config, objective={term: 2.0}, proposers=proposers, warmup=100)
    env = ParallelEraseEnv(**{**arguments, "workload": {"kind": "uniform", "interarrival_ns": 700.0}})
    rng = np.random.default_rng(0)
    env.reset(seed=4)
    total, over = 0.0, False
    while not over:
        _, reward, _, over, info = env.step(any_valid(env.action_masks(), rng))
        total += reward
    metrics = info["metrics"]
    assert metrics["erased_sub_blocks"] > metrics["gc_invocations"] * (4 if unit == "block" else 1)
    assert total == pytest.approx(2.0 * BY_METRICS[term](metrics), rel=1e-12)
    assert total < 0


def test_objective__by_default__the_latency() -> None:
    assert ParallelEraseEnv(**options("timed", objective=None)).episodes.reward.objective == {"latency": 1.0}
    with pytest.raises(SsdgymError, match=r"objective.latency needs time, but ftl.timing is none"):
        ParallelEraseEnv(ftl={"timing": "none"})


# -- construction --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [1, 0, 9, 2.0, True, "4", None])
@pytest.mark.parametrize("make", [ParallelEraseEnv, ParallelEraseVectorEnv])
def test_most_blocks__outside_2_to_8__refused(make: Any, wrong: Any) -> None:
    with pytest.raises(SsdgymError) as caught:
        make(**options(most_blocks=wrong))
    assert str(caught.value) == f"most_blocks must be a whole number from 2 to 8, not {wrong!r}."


@pytest.mark.parametrize("make", [ParallelEraseEnv, ParallelEraseVectorEnv])
def test_candidates_all__refused(make: Any) -> None:
    with pytest.raises(SsdgymError, match=r"candidates='all' cannot be had where blocks are erased together"):
        make(**options(candidates="all"))


def test_proposers__by_default__differ_on_the_default_device() -> None:
    """One block, two and four, and blocks by age and at random; never more than may be filled up."""
    env = ParallelEraseEnv(workload="zipf99")
    _, info = env.reset(seed=0)
    lengths = [len(offered(env)[k]) for k in info["proposed"]]
    assert lengths == [1, 1, 2, 4, 1]
    assert len(set(info["proposed"].tolist())) == len(PARALLEL_PROPOSERS) < env.action_space.n
    assert all(get_policy(name).victim.compiled for name in PARALLEL_PROPOSERS)


def test_make_vec__registered__native() -> None:
    env = gym.make_vec(ENV_ID, num_envs=2, **options())
    assert isinstance(env.unwrapped, ParallelEraseVectorEnv)
    _, info = env.reset(seed=1)
    env.step(info["proposed"][:, 0])


def test_maskable_ppo__learns_on_it_for_an_update() -> None:
    env = SB3VecEnv(ParallelEraseVectorEnv(2, **options("relaxed")))
    model = MaskablePPO("MultiInputPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=0)
    model.learn(32)
    observation = env.reset()
    action, _ = model.predict(observation, action_masks=np.stack(env.env_method("action_masks")))
    assert np.take_along_axis(env.vector_env.action_masks(), action[:, None], 1).all()
