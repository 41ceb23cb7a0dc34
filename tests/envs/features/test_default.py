"""What is observed by default tells something: no column is constant, doubled or out of its box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.envs import (
    BackgroundGCVectorEnv,
    DecisionVectorEnv,
    EraseVictimVectorEnv,
    JointGCVectorEnv,
    MergePlanVectorEnv,
    ParallelEraseVectorEnv,
    PlacementVectorEnv,
    SubpageRegionVectorEnv,
)

STEPS = 400


def played(env: DecisionVectorEnv) -> dict[str, np.ndarray]:
    """Play at random; return the rows of both parts that were seen."""
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    rows: dict[str, list[np.ndarray]] = {"candidates": [], "context": []}
    for _ in range(STEPS):
        assert env.observation_space.contains(observation)
        valid = observation["action_mask"] != 0
        rows["candidates"].append(observation["candidates"][valid])
        rows["context"].append(observation["context"])
        observation, *_ = env.step(np.array([rng.choice(np.flatnonzero(row)) for row in valid]))
    return {part: np.concatenate(seen) for part, seen in rows.items()}


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (EraseVictimVectorEnv, {}),
        (EraseVictimVectorEnv, {"ftl": {"timing": "none"}, "workload": "hot90"}),
        (ParallelEraseVectorEnv, {}),
        (PlacementVectorEnv, {"ftl": {"timing": "none"}}),
        (PlacementVectorEnv, {}),
        (JointGCVectorEnv, {"ftl": {"timing": "none"}}),
        (BackgroundGCVectorEnv, {}),
        (SubpageRegionVectorEnv, {}),
        (MergePlanVectorEnv, {}),
    ],
    ids=[
        *("erase victim", "hot90", "parallel erase", "placement", "placement in time", "joint", "background"),
        *("subpage region", "merge plan"),
    ],
)
def test_default__every_column_varies_and_none_is_a_copy(make: Any, arguments: dict[str, Any]) -> None:
    env = make(4, **arguments)
    for part, rows in played(env).items():
        names = env.metadata["features"][part]
        constant = [name for name, column in zip(names, rows.T, strict=True) if column.std() < 0.1]
        assert constant == []
        alike = np.abs(np.corrcoef(rows.T)) - np.eye(len(names))
        assert [(names[i], names[j]) for i, j in np.argwhere(alike > 0.999)] == []
