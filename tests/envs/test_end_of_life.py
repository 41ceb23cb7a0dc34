"""Episodes of devices whose cells wear out: they are terminated at the end of a life, in all environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from ssdgym.envs import (
    DecisionEnv,
    EraseVictimEnv,
    EraseVictimVectorEnv,
    JointGCEnv,
    MergePlanEnv,
    SubpageRegionEnv,
    WearLevelEnv,
)
from tests.engine.devices import device
from tests.envs.vector.compare import assert_same

CELLS = {"endurance": {"mean": 8, "spread": 0.3}}


def arguments(**more: Any) -> dict[str, Any]:
    config = device({"channels": 1}, {"timing": "event"}, cells=CELLS, over_provisioning=1.5)
    return {"device": config, "workload": "uniform", "horizon": 100_000, "preconditioning": "fill"} | more


#: A device whose blocks are merged.
MERGED = {"base": "pen-demo", "cells": CELLS}
#: One whose pages are mapped in parts, which small writes come to.
IN_PARTS = {"base": "subftl-tiny", "capacity.logical_pages": 2200, "cells": CELLS}


@pytest.mark.parametrize(
    ("env_type", "more"),
    [
        (EraseVictimEnv, {}),
        (JointGCEnv, {}),
        (WearLevelEnv, {}),
        (MergePlanEnv, {"device": MERGED}),
        (SubpageRegionEnv, {"device": IN_PARTS, "workload": "varmail"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_single__terminated_with_the_reason(env_type: type[DecisionEnv], more: dict[str, Any]) -> None:
    env = env_type(**arguments(**more))
    lengths = []
    for seed in (1, 2, 1):
        observation, _ = env.reset(seed=seed)
        steps, over = 0, False
        while not over:
            action = int(np.argmax(observation["action_mask"]))
            observation, _, terminated, truncated, info = env.step(action)
            assert not truncated and terminated == info.get("end_of_life", False)
            steps, over = steps + 1, terminated
        assert info["metrics"]["end_of_life"] and info["metrics"]["lost_pages"] == 0
        lengths.append((steps, info["metrics"]["host_pages_written"]))
    assert lengths[0] == lengths[2] != lengths[1]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_vector__as_single_environments_side_by_side(mode: AutoresetMode) -> None:
    ours = EraseVictimVectorEnv(2, autoreset_mode=mode, **arguments())
    theirs = SyncVectorEnv([lambda: EraseVictimEnv(**arguments())] * 2, autoreset_mode=mode)
    results = [env.reset(seed=[3, 4]) for env in (ours, theirs)]
    assert_same(*results)
    ends = 0
    while ends < 3:
        actions = results[0][0]["action_mask"].argmax(axis=1)
        results = [env.step(actions) for env in (ours, theirs)]
        assert_same(*results)
        assert not results[0][3].any()
        ends += int(results[0][2].sum())


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_vector__episodes_that_end_together__with_and_without_a_lost_block(mode: AutoresetMode) -> None:
    """What is a number in one of them and `None` in the other is NaN in the array of both."""
    env = EraseVictimVectorEnv(2, autoreset_mode=mode, **arguments(horizon=300))
    observation, _ = env.reset(seed=[10, 8])
    truncated = np.zeros(2, bool)
    while not truncated.any():
        observation, _, _, truncated, info = env.step(observation["action_mask"].argmax(axis=1))
    metrics = info["final_info"]["metrics"] if mode is AutoresetMode.SAME_STEP else info["metrics"]
    first = metrics["lifetime"]["host_pages_at_first_retirement"]
    assert truncated.all() and first[0] > 0 and np.isnan(first[1])
