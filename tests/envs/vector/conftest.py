"""Small vector environments of every kind: native, and Gymnasium's over the single environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from tests.engine.devices import device, full_device

#: Id -> arguments. The second device has time, whose metrics are of other types.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "ssdgym/EraseVictim-v0": {"device": full_device(), "workload": "zipf80"},
    "ssdgym/ParallelErase-v0": {
        "device": device(
            {"blocks_per_plane": 32, "planes_per_die": 2},
            {"timing": "event", "queue_depth": 8, "gc": {"free_blocks": 5}},
            multi_plane="relaxed",
        ),
        "workload": {"kind": "zipf", "theta": 0.9, "read_fraction": 0.3},
        "objective": {"latency": 1.0, "relocations": 0.5},
    },
}
MODES = list(AutoresetMode)
COUNT = 3

Make = Callable[..., VectorEnv]


@pytest.fixture(params=ARGUMENTS)
def env_id(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=MODES, ids=lambda mode: mode.value)
def mode(request: pytest.FixtureRequest) -> AutoresetMode:
    return request.param


@pytest.fixture(params=["native", "sync"])
def make(request: pytest.FixtureRequest) -> Make:
    """Make three environments in a mode, natively or by Gymnasium."""
    return native if request.param == "native" else sync


def native(env_id: str, mode: AutoresetMode, **changes: Any) -> VectorEnv:
    arguments = {"horizon": 80, "candidates": 6, **ARGUMENTS[env_id], **changes}
    return gym.make_vec(env_id, num_envs=COUNT, autoreset_mode=mode, **arguments)


def sync(env_id: str, mode: AutoresetMode, **changes: Any) -> VectorEnv:
    arguments = {"horizon": 80, "candidates": 6, **ARGUMENTS[env_id], **changes}
    return gym.make_vec(
        env_id,
        num_envs=COUNT,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **arguments,
    )


def single(env_id: str, **changes: Any) -> gym.Env:
    return gym.make(env_id, **{"horizon": 80, "candidates": 6, **ARGUMENTS[env_id], **changes})


def draw(mask: np.ndarray, rng: np.random.Generator) -> int:
    """A valid action; the same draws of the generator whatever the mask."""
    valid = np.flatnonzero(mask)
    return int(valid[rng.integers(2**31) % len(valid)])
