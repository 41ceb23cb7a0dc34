"""`ssdgym/ParallelErase-v0`: what its docs promise of erase sets of several blocks."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.records import INDEXED
from ssdgym.envs import EraseVictimEnv, ParallelEraseEnv, ParallelEraseVectorEnv
from ssdgym.envs.erase_victim import PARALLEL_PROPOSERS
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import copy_device, restore_device
from tests.engine.devices import device, differences, full_device
from tests.envs import cases
from tests.envs.cases import SHAPE, any_valid, play, playing, valid
from tests.reference.randomness import below, draw

options = partial(cases.options, "ParallelErase")
each_kind = pytest.mark.parametrize("kind", cases.KINDS["ParallelErase"])


#: The sub-blocks of each block of an erase set, in the order in which they are moved.
ErasedTogether = tuple[tuple[int, int], ...]


def offered(env: ParallelEraseEnv) -> list[ErasedTogether]:
    """The candidates that may be chosen now."""
    sets = env.episodes.view.sets[0][env.action_masks()]
    return [tuple((int(p["block"]), int(p["mask"])) for p in pairs if p["mask"]) for pairs in sets]


def test_spaces__those_of_erase_victim() -> None:
    arguments = options()
    parallel = ParallelEraseEnv(**arguments, features=["default", "moves", "share"])
    victim = EraseVictimEnv(**arguments, features=["default", "moves", "share"])
    named, victims = (env.metadata["features"]["candidates"] for env in (parallel, victim))
    assert {n for n in named if "proposed" not in n} == {n for n in victims if "proposed" not in n}
    assert parallel.observation_space["context"] == victim.observation_space["context"]
    assert parallel.action_space == victim.action_space


@each_kind
def test_candidates__sets_of_one_to_most_blocks__legal_and_without_repeats(kind: str) -> None:
    """Every candidate is carried out on a copy of the device by a simulator, which refuses illegal ones."""
    arguments = options(kind, proposers=("greedy", "cost_benefit"))
    env = ParallelEraseEnv(**arguments)
    most = arguments.get("most_blocks", 4)
    state = env.episodes.state
    recording = Recording(state.latency.shape[1], state.tail.shape[2] - 1)
    alone = Simulator(env.episodes.devices[0], policy=None, recording=recording)
    lengths: Counter[int] = Counter()
    for _ in playing(env, 1, np.random.default_rng(1)):
        sets = offered(env)
        assert len(set(sets)) == len(sets)
        lengths.update(len(pairs) for pairs in sets)
        if env.episodes.state.counters["host_pages_written"][0, 0] < 60:
            now = copy_device(env.episodes.state, 0)
            for pairs in sets:
                restore_device(alone.arrays, 0, now)
                alone.apply(list(pairs))
    assert min(lengths) == 1 and max(lengths) <= most
    assert set(range(1, min(most, 4) + 1)) <= set(lengths), "sets of several blocks do occur"


def test_candidates__behind_those_by_rank__are_drawn_by_the_seed_of_the_episode() -> None:
    """Draw `521 k` is for the number of blocks of set `k`, those from `521 k + 1 + 65 j` on for block `j`."""
    env = ParallelEraseEnv(**options(proposers=("greedy",)))
    rng, some = np.random.default_rng(1), 0
    env.reset(seed=9)
    for _ in range(30):
        state = env.episodes.state
        blocks, decision = state.block[0], int(state.control["rounds"][0, 0])
        plane = int(state.control["decision_plane"][0, 0])
        drawn = []
        for k in range(12):
            found: list[int] = []
            for j in range(1 + below(4, draw(9, 2, decision, 521 * k))):
                first = 521 * k + 1 + 65 * j
                numbers = [32 * plane + below(32, draw(9, 2, decision, first + i)) for i in range(64)]
                block = next(b for b in numbers if blocks["status"][b] & INDEXED and blocks["invalid"][b] > 0)
                found += [block] * (block not in found)
            drawn.append(tuple((block, 1) for block in found))
        at_random = offered(env)[9:]  # before them the proposer's pick, and half of the places, or two more
        assert [pairs for pairs in dict.fromkeys(drawn) if pairs in at_random] == at_random
        some += len(at_random)
        env.step(any_valid(env.action_masks(), rng))
    assert some > 30


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
    config = env.episodes.devices[0]
    per_block, s = config.geometry.pages_per_block, config.geometry.sub_blocks_per_block
    for observation in playing(env, 2, np.random.default_rng(2)):
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
    for observation in playing(env, seed, np.random.default_rng(seed)):
        assert env.observation_space.contains(observation), observation
    assert env.observation_space.contains(env.observation())
    assert env.action_masks().any()
    assert env.metrics()["host_pages_written"] == horizon
    assert env.metrics()["lost_pages"] == 0


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
    played = play(env, 4, valid(env, np.random.default_rng(0)))
    total, metrics = played.total, played.metrics
    assert metrics["erased_sub_blocks"] > metrics["gc_invocations"] * (4 if unit == "block" else 1)
    assert total == pytest.approx(2.0 * BY_METRICS[term](metrics), rel=1e-12)
    assert total < 0


def test_objective__by_default__the_latency() -> None:
    assert ParallelEraseEnv(**options("timed", objective=None)).episodes.reward.objective == {"latency": 1.0}
    with pytest.raises(SsdgymError, match=r"objective.latency needs time, but ftl.timing is none"):
        ParallelEraseEnv(ftl={"timing": "none"})


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
    assert len(set(info["proposed"])) == len(PARALLEL_PROPOSERS) < env.action_space.n
    assert all(get_policy(name).victim.compiled for name in PARALLEL_PROPOSERS)
