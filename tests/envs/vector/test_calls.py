"""`call`, `get_attr` and `set_attr` reach each environment, as in Gymnasium's own vector environments."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from ssdgym.errors import SsdgymError
from tests.envs.vector.conftest import ARGUMENTS, COUNT, native, sync

ENV_ID = next(iter(ARGUMENTS))
SAME_STEP = AutoresetMode.SAME_STEP


@pytest.fixture(params=[native, sync], ids=["native", "sync"])
def env(request: pytest.FixtureRequest):
    env = request.param(ENV_ID, SAME_STEP)
    env.reset(seed=[4, 5, 6])
    return env


def test_call__a_method__one_result_each(env) -> None:
    masks = env.call("action_masks")
    assert isinstance(masks, tuple) and [mask.shape for mask in masks] == [(6,)] * COUNT
    assert [metrics["host_pages_written"] for metrics in env.call("metrics")] == [
        info["host_pages_written"] for info in env.call("info")
    ]


def test_get_attr__values_of_each(env) -> None:
    assert env.get_attr("np_random_seed") == (4, 5, 6) == env.np_random_seed
    assert [space.n for space in env.get_attr("action_space")] == [6] * COUNT
    assert env.get_attr("render_mode") == (None,) * COUNT
    assert len({id(rng) for rng in env.np_random}) == COUNT
    with pytest.raises(AttributeError):
        env.get_attr("taste")


def test_set_attr__one_for_all_or_one_each(env) -> None:
    env.set_attr("stage", "early")
    assert env.get_attr("stage") == ("early",) * COUNT
    env.set_attr("stage", ["early", "late", "over"])
    assert env.get_attr("stage") == ("early", "late", "over")
    with pytest.raises((SsdgymError, ValueError), match=r"2.* values for 3 environments"):
        env.set_attr("stage", [1, 2])


def test_set_attr__generators__draw_the_seeds_of_later_episodes(env) -> None:
    env.set_attr("np_random", [np.random.default_rng(1) for _ in range(COUNT)])
    _, infos = env.reset()
    assert len(set(infos["episode_seed"].tolist())) == 1


def test_call__step_and_reset__of_each_by_itself(env) -> None:
    env.call("step", 0)
    assert [info["episode_seed"] for _, info in env.call("reset", seed=9)] == [9] * COUNT
