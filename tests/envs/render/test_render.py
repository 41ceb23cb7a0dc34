"""`render_mode`: what environments return for each, and what they refuse."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ssdgym.engine.decisions import ERASE, PLACE, RELOCATE
from ssdgym.envs import (
    EraseVictimEnv,
    EraseVictimVectorEnv,
    JointGCEnv,
    ParallelEraseEnv,
    PlacementEnv,
    PlacementVectorEnv,
)
from ssdgym.errors import SsdgymError

TINY: dict[str, Any] = {"device": "tiny", "horizon": 64}
ENV_ID = "ssdgym/EraseVictim-v0"


@pytest.mark.parametrize("env_id", [ENV_ID, "ssdgym/ParallelErase-v0"])
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_gym_make__frames_of_an_episode__of_one_kind_and_size(env_id: str, mode: str) -> None:
    env = gym.make(env_id, **TINY, objective={"relocations": 1.0}, render_mode=mode)
    observation, _ = env.reset(seed=0)
    frames = [env.render()]
    truncated = False
    while not truncated:
        observation, _, _, truncated, _ = env.step(observation["action_mask"].argmax())
        frames.append(env.render())
    if mode == "ansi":
        assert all(isinstance(frame, str) and frame.endswith("\n") for frame in frames)
        assert len(set(frames)) > len(frames) / 2
    else:
        assert {(frame.dtype.name, frame.shape) for frame in frames} == {("uint8", frames[0].shape)}
        assert len({frame.tobytes() for frame in frames}) > len(frames) / 2


def test_check_env__with_its_render_modes__no_warning(recwarn: pytest.WarningsRecorder) -> None:
    check_env(gym.make(ENV_ID, device="demo", render_mode="rgb_array").unwrapped)
    assert not recwarn.list


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize(
    ("one", "many"), [(EraseVictimEnv, EraseVictimVectorEnv), (PlacementEnv, PlacementVectorEnv)]
)
def test_vector__a_frame_of_each__as_of_the_single_environments(mode: str, one: Any, many: Any) -> None:
    vector = many(2, **TINY, render_mode=mode, autoreset_mode="Disabled")
    observation, _ = vector.reset(seed=4)
    singles = [one(**TINY, render_mode=mode) for _ in range(2)]
    for i, single in enumerate(singles):
        single.reset(seed=4 + i)
    for _ in range(5):
        actions = observation["action_mask"].argmax(1)
        observation, *_ = vector.step(actions)
        frames = vector.render()
        assert isinstance(frames, tuple)
        for frame, single, action in zip(frames, singles, actions, strict=True):
            single.step(action)
            assert np.array_equal(frame, single.render())


def test_scene__candidates_and_the_choice_before__those_of_the_episode() -> None:
    env = EraseVictimEnv(**TINY, render_mode="ansi")
    _, info = env.reset(seed=0)
    before = env.scene()
    assert before.chosen is None and not before.chosen_blocks.any()
    assert before.offered_blocks.sum() == env.action_masks().sum() == len(before.candidates)
    env.step(info["proposed"][0])
    after = env.scene()
    np.testing.assert_array_equal(after.chosen, before.candidates[0])
    assert before.offered_blocks[after.chosen_blocks].all()
    env.reset()
    assert env.scene().chosen is None


def test_scene__where_several_kinds_are_asked__marks_erase_sets_only_where_one_is_chosen() -> None:
    env = JointGCEnv(device="demo-placement", horizon=150, render_mode="ansi")
    env.reset(seed=0)
    erased, kinds, truncated = None, set(), False
    while not truncated:
        scene, allowed = env.scene(), env.action_masks()
        kinds.add(scene.kind)
        assert scene.choices == allowed.sum()
        assert len(scene.candidates) == (scene.choices if scene.kind == ERASE else 0)
        np.testing.assert_array_equal(scene.chosen, erased)
        action = allowed.argmax()
        erased = env.episodes.view.sets[0, action].copy() if scene.kind == ERASE else erased
        truncated = env.step(action)[3]
    assert kinds == {ERASE, PLACE, RELOCATE}


def test_scene__pages__are_those_of_the_device() -> None:
    env = EraseVictimEnv(**TINY)
    observation, _ = env.reset(seed=0)
    truncated = False
    while not truncated:
        observation, _, _, truncated, _ = env.step(observation["action_mask"].argmax())
        scene, state = env.scene(), env.episodes.state
        blocks = state.block[0]
        counted = (scene.map.pages == 2).sum(axis=2).ravel()
        closed = ~scene.map.open.ravel()
        np.testing.assert_array_equal(counted[closed], blocks["invalid"][closed])
        mapped = int((state.logical["ppn"][0] >= 0).sum())
        assert (scene.map.pages == 1).sum() == mapped
        assert (scene.map.pages != 0).sum() == state.sub_block["written"][0].sum()


def test_scene__devices_of_different_sizes_in_one_vector__each_its_own() -> None:
    env = EraseVictimVectorEnv(3, device=["tiny", "demo", "tiny"], horizon=64, render_mode="rgb_array")
    env.reset(seed=0)
    assert [env.envs[i].scene().map.pages.shape for i in range(3)] == [(2, 32, 16), (1, 256, 32), (2, 32, 16)]
    first, second, third = env.render()
    assert first.shape == third.shape != second.shape


@pytest.mark.parametrize("make", [EraseVictimEnv, EraseVictimVectorEnv, ParallelEraseEnv])
@pytest.mark.parametrize("wrong", ["human", "", 3])
def test_render_mode__unknown__refused(make: Any, wrong: Any) -> None:
    with pytest.raises(SsdgymError) as caught:
        make(device="tiny", render_mode=wrong)
    assert str(caught.value) == f"render_mode must be None or one of 'ansi', 'rgb_array', not {wrong!r}."


@pytest.mark.parametrize("make", [EraseVictimEnv, EraseVictimVectorEnv])
def test_render__without_a_mode__refused(make: Any) -> None:
    env = make(**TINY)
    env.reset(seed=0)
    with pytest.raises(SsdgymError, match="render needs a render_mode; make the environment with 'ansi' or"):
        env.render()
