"""Devices of a second FTL family in an environment of a decision of their own, without a change to ssdgym."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.envs import registration
from gymnasium.utils.env_checker import check_env
from my_lab.chest import DRAWER, DRAWERS

from ssdgym.config import ftl as ftl_module
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.engine.core.status import FIRST_DECISION
from ssdgym.envs import EraseVictimEnv
from ssdgym.envs.rewards import terms
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from ssdgym.simulator import families as registry
from tests.engine.devices import device, random_writes


@pytest.fixture(autouse=True, scope="module")
def chest_env() -> Iterator[Any]:
    """The environment of the recipe, with its family: known during these tests only."""
    tables = (
        *((ftl_module, "_FAMILIES"), (registry, "_BUILDERS"), (terms, "TERMS")),
        (registration, "registry"),
    )
    with pytest.MonkeyPatch.context() as patch:
        for module, name in tables:
            patch.setattr(module, name, dict(getattr(module, name)))
        yield importlib.import_module("my_lab.chest_env")


def chest() -> DeviceConfig:
    return load_device({**dict(device()), "ftl": {"mapping": "chest", "timing": "none"}})


def test_single__passes_the_checks_of_gymnasium__and_ends_at_its_horizon(chest_env: Any) -> None:
    env = chest_env.DrawerEnv(device=chest(), objective={"emptied": 1.0})
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, _, over, info = env.step(steps % DRAWERS)
        total, steps = total + reward, steps + 1
    assert steps == 64 == info["metrics"]["host_pages_written"]
    assert total == -info["metrics"]["erases"] < 0


def test_vector__every_environment_is_the_single_one(chest_env: Any) -> None:
    single = chest_env.DrawerEnv(device=chest())
    vector = chest_env.DrawerVectorEnv(3, device=chest())
    seen, _ = vector.reset(seed=[5, 6, 7])
    alone, _ = single.reset(seed=6)
    for step in range(40):
        assert np.array_equal(seen["candidates"][1], alone["candidates"])
        seen, *_ = vector.step(np.full(3, step % DRAWERS))
        alone, *_ = single.step(step % DRAWERS)
    assert vector.metadata["features"] == {"candidates": ("fill",), "context": ("erases",)}


def test_render__a_family_without_a_map_of_pages__refused(chest_env: Any) -> None:
    env = chest_env.DrawerEnv(device=chest(), render_mode="ansi")
    env.reset(seed=1)
    with pytest.raises(
        SsdgymError, match=r"devices of ftl.mapping chest cannot be drawn; leave render_mode out"
    ):
        env.render()


def test_simulator__without_a_policy__leaves_the_decision_of_the_family_to_its_caller() -> None:
    simulator = Simulator(chest(), policy=None)
    simulator.feed(random_writes(5, 20))
    assert simulator.advance() == FIRST_DECISION + DRAWER
    with pytest.raises(SsdgymError, match="a simulator without a policy stops at decisions"):
        simulator.run(random_writes(5, 20))


def test_decision__that_the_family_does_not_describe__refused(chest_env: Any) -> None:
    with pytest.raises(SsdgymError, match="ftl.mapping chest never waits for .*; choose one of mapping page"):
        EraseVictimEnv(device=chest())
    with pytest.raises(SsdgymError, match="ftl.mapping page never waits for .*; choose one of mapping chest"):
        chest_env.DrawerEnv(device=device())
