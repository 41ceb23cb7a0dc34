"""`ssdgym/EraseVictim-v0`: what its docs promise of candidates, seeds and vectors beside the contract."""

from __future__ import annotations

import multiprocessing
import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig
from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.simulator.build import copy_device
from tests.engine.devices import device, differences, full_device
from tests.envs import cases
from tests.envs.cases import any_valid, playing
from tests.envs.vector.compare import row

options = partial(cases.options, "EraseVictim")
each_kind = pytest.mark.parametrize("kind", cases.KINDS["EraseVictim"])


def test_step__after_the_end_or_before_a_reset__refused() -> None:
    env = EraseVictimEnv(**options(horizon=30))
    with pytest.raises(SsdgymError, match="call reset first"):
        env.step(0)
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        observation, _, _, over, _ = env.step(np.flatnonzero(observation["action_mask"])[0])
    with pytest.raises(SsdgymError, match="call reset first"):
        env.step(0)


def test_episode__without_any_decision__ends_with_its_first_step() -> None:
    """A host page that triggers nothing: the vector environment and the single one agree on what to do."""
    spacious = options(device=device(over_provisioning=3.0), horizon=1)
    env, vector = EraseVictimEnv(**spacious), EraseVictimVectorEnv(1, **spacious)
    observation, _ = env.reset(seed=0)
    vector.reset(seed=0)
    action = np.flatnonzero(observation["action_mask"])[0]
    _, reward, _, truncated, info = env.step(action)
    assert (reward, truncated, info["metrics"]["host_pages_written"]) == (0.0, True, 1)
    _, rewards, _, truncations, infos = vector.step([action])
    assert (rewards[0], truncations[0]) == (0.0, True)
    assert row(infos, 0)["metrics"] == info["metrics"]


def test_vector_step__one_action_outside_the_mask__nobody_moves() -> None:
    env = EraseVictimVectorEnv(3, **options())
    _, info = env.reset(seed=0)
    before = [copy_device(env.episodes.state, i) for i in range(3)]
    with pytest.raises(SsdgymError, match="action 6 of environment 2 is outside the action mask"):
        env.step([*info["proposed"][:2, 0], 6])
    assert [differences(env.episodes.state, i, before[i], 0) for i in range(3)] == [[], [], []]


@pytest.mark.parametrize("wrong", [0.0, 0.7, True, "0", None, 10**30], ids=str)
def test_step__no_whole_number__refused(wrong: Any) -> None:
    """Rounded down, 0.7 would be a valid action that nobody chose."""
    env = EraseVictimEnv(**options())
    env.reset(seed=0)
    before = copy_device(env.episodes.state, 0)
    with pytest.raises(SsdgymError, match="an action must be a whole number"):
        env.step(wrong)
    assert differences(env.episodes.state, 0, before, 0) == []


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint16, np.int64, int])
def test_step__any_type_of_whole_number__is_an_action(kind: Any) -> None:
    env = EraseVictimEnv(**options())
    _, info = env.reset(seed=0)
    assert env.step(kind(info["proposed"][0]))[4]["relocated_pages"] >= 0


@pytest.mark.parametrize("actions", [[0, 0], [[0, 0, 0]], 0], ids=["too few", "2-d", "a number"])
def test_vector_step__not_one_action_each__refused(actions: Any) -> None:
    env = EraseVictimVectorEnv(3, **options())
    env.reset(seed=0)
    with pytest.raises(SsdgymError, match="give one for each of the 3 environments"):
        env.step(actions)


@each_kind
def test_proposals__without_repeats_and_at_the_places_named(kind: str) -> None:
    env = EraseVictimEnv(**options(kind, proposers=("greedy", "fifo", "random", "d_choices(d=2)")))
    rng = np.random.default_rng(1)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        mask = env.action_masks()
        sets = env.episodes.view.sets[0][mask]
        assert not sets["mask"][:, 1:].any(), "one block each"
        assert len({(int(s["block"]), int(s["mask"])) for s in sets[:, 0]}) == len(sets)
        assert mask[info["proposed"]].all()
        if "every" not in kind:
            assert info["proposed"][0] == 0
            assert mask[: mask.sum()].all(), "valid candidates come first"
        greedy = env.episodes.view.sets[0][info["proposed"][0], 0]["block"]
        blocks = env.episodes.state.block[0]
        valid_blocks = sets[:, 0]["block"]
        assert blocks[greedy]["invalid"] == blocks[valid_blocks]["invalid"].max()
        _, _, _, over, info = env.step(any_valid(mask, rng))


@pytest.mark.parametrize("kind", ["every block", "every erase set"])
def test_candidates_all__the_same_erase_set_at_the_same_place(kind: str) -> None:
    """Block by block of the plane; of a block with runs, by start and length, the whole block last."""
    env = EraseVictimEnv(**options(kind))
    config = env.episodes.devices[0]
    s = config.geometry.sub_blocks_per_block if config.erase_unit == "sub_block_run" else 1
    runs = [
        ((1 << length) - 1) << start for start in range(s) for length in range(1, s - start + 1) if length < s
    ]
    masks = [*runs, (1 << s) - 1]
    assert env.action_space.n == len(masks) * config.geometry.blocks_per_plane
    for _ in playing(env, 3, np.random.default_rng(3)):
        plane = int(env.episodes.state.control["decision_plane"][0, 0])
        first = plane * config.geometry.blocks_per_plane
        expected = [(first + b, m) for b in range(config.geometry.blocks_per_plane) for m in masks]
        assert [(int(e["block"]), int(e["mask"])) for e in env.episodes.view.sets[0, :, 0]] == expected


@st.composite
def devices(draw: st.DrawFn) -> DeviceConfig:
    """Devices of many shapes, full and not."""
    sub_blocks = draw(st.sampled_from([1, 2, 4]))
    geometry = {
        "channels": draw(st.integers(1, 2)),
        "planes_per_die": draw(st.integers(1, 2)),
        "blocks_per_plane": draw(st.integers(6, 24)),
        "sub_blocks_per_block": sub_blocks,
        "pages_per_block": sub_blocks * draw(st.integers(1, 8)),
    }
    ftl = {
        "timing": draw(st.sampled_from(["none", "event"])),
        "allocation": draw(st.sampled_from(["static", "dynamic"])),
        "placement": draw(st.sampled_from(["single", "sep_gc"])),
        "gc": {"free_blocks": 2, "mode": draw(st.sampled_from(["barrier", "per_write"]))},
    }
    unit = draw(st.sampled_from(["block", "sub_block_run", "sub_block_set"][: 3 if sub_blocks > 1 else 1]))
    isolation = draw(st.sampled_from(["none", "software"])) if unit != "block" else "none"
    full = full_device(geometry, ftl, erase_unit=unit, isolation=isolation)
    pages = max(int(full.logical_pages * draw(st.sampled_from([1.0, 0.8]))), 1)
    return device(geometry, ftl, erase_unit=unit, isolation=isolation, logical_pages=pages)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    devices(),
    st.sampled_from([1, 6, "all"]),
    st.integers(1, 150),
    st.sampled_from(["zipf80", {"kind": "uniform", "trim_fraction": 0.3, "read_fraction": 0.2}]),
    st.integers(0, 2**32),
)
def test_observations__any_device__finite_inside_the_space_and_never_without_a_valid_action(
    config: DeviceConfig, candidates: Any, horizon: int, workload: Any, seed: int
) -> None:
    env = EraseVictimEnv(
        device=config, workload=workload, horizon=horizon, candidates=candidates, proposers=("greedy",)
    )
    rng = np.random.default_rng(seed)
    for observation in playing(env, seed, rng):
        assert env.observation_space.contains(observation), observation
        assert observation["action_mask"].any()
    assert env.observation_space.contains(env.observation())
    assert env.action_masks().any()
    assert env.metrics()["host_pages_written"] == horizon
    assert env.metrics()["lost_pages"] == 0


def test_reset__seed__is_the_first_episode_and_draws_the_next_ones() -> None:
    env = EraseVictimEnv(**options())
    first, again = ([env.reset(seed=seed)[1]["episode_seed"] for seed in (7, None, None)] for _ in range(2))
    assert first == again
    assert first[0] == 7
    assert len(set(first)) == 3
    assert env.reset(seed=8)[1]["episode_seed"] == 8


def test_episode_seed__repeats_an_episode_that_was_drawn() -> None:
    env = EraseVictimEnv(**options())
    env.reset(seed=7)
    drawn, info = env.reset()
    repeated, _ = env.reset(seed=info["episode_seed"])
    for key in drawn:
        np.testing.assert_array_equal(drawn[key], repeated[key])


def test_vector_reset__a_number_seeds_upwards__the_single_environments_episodes() -> None:
    vector = EraseVictimVectorEnv(3, **options())
    observation, _ = vector.reset(seed=20)
    for i in range(3):
        single, _ = EraseVictimEnv(**options()).reset(seed=20 + i)
        for key in single:
            np.testing.assert_array_equal(observation[key][i], single[key])


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, np.uint64(2**64 - 1), np.int32(5)])
def test_reset__any_number_of_64_bits__is_a_seed(seed: Any) -> None:
    single, vector = EraseVictimEnv(**options()), EraseVictimVectorEnv(2, **options())
    observation, info = single.reset(seed=seed)
    observations, infos = vector.reset(seed=[seed, None])
    assert info["episode_seed"] == infos["episode_seed"][0] == seed
    again, _ = single.reset(seed=info["episode_seed"])
    for key in observation:
        np.testing.assert_array_equal(observation[key], observations[key][0])
        np.testing.assert_array_equal(observation[key], again[key])


@pytest.mark.parametrize("seed", [2**64, -1, True, 1.5, "ab"])
def test_reset__no_seed__is_a_sentence(seed: Any) -> None:
    reason = r"the seed of environment 0 must be a whole number from 0 to 2\*\*64 - 1, not"
    for env, wrong in (
        (EraseVictimEnv(**options()), seed),
        (EraseVictimVectorEnv(2, **options()), seed),
        (EraseVictimVectorEnv(2, **options()), [seed, 1]),
    ):
        with pytest.raises(SsdgymError, match=reason):
            env.reset(seed=wrong)


def test_vector_reset__wrong_number_of_seeds__refused() -> None:
    with pytest.raises(SsdgymError, match="reset was given 2 seeds for 3 environments"):
        EraseVictimVectorEnv(3, **options()).reset(seed=[1, 2])


def test_vector__devices_of_different_geometry__in_turn() -> None:
    devices = [full_device(), full_device({"blocks_per_plane": 24, "pages_per_block": 4, "channels": 1})]
    env = EraseVictimVectorEnv(5, **options(device=devices))
    assert [d.geometry.blocks_per_plane for d in env.episodes.devices] == [16, 24, 16, 24, 16]
    observation, info = env.reset(seed=0)
    for _ in range(100):
        assert env.observation_space.contains(observation)
        observation, *_, info = env.step(info["proposed"][:, 0])


def first_observation(arguments: dict[str, Any], connection: Any) -> None:
    """In a new process: make the environment by its id and send back what it shows."""
    connection.send(gym.make("ssdgym.envs:ssdgym/EraseVictim-v0", **arguments).reset(seed=4)[0])


def test_spawned_process__knows_the_id_and_shows_the_same() -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=first_observation, args=(options(), there))
    worker.start()
    assert here.poll(120), "the worker has not answered"
    elsewhere = here.recv()
    worker.join()
    observation, _ = EraseVictimEnv(**options()).reset(seed=4)
    for key in observation:
        np.testing.assert_array_equal(observation[key], elsewhere[key])


def test_options__survive_a_pickle() -> None:
    env = EraseVictimEnv(**options("timed"))
    copied = pickle.loads(pickle.dumps(env.episodes.options))
    assert copied == env.episodes.options


def test_vector__max_episode_steps__refused() -> None:
    with pytest.raises(SsdgymError, match="max_episode_steps is not for this environment"):
        EraseVictimVectorEnv(2, **options(), max_episode_steps=5)
