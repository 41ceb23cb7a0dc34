"""Devices of a second FTL family in an environment of a decision of their own, without a change to ssdgym."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.ftl import FtlConfig, register_ftl
from ssdgym.config.ftl import base as ftl_module
from ssdgym.engine.core.status import FIRST_DECISION
from ssdgym.engine.decisions import RULE, no_rules
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs import DecisionEnv, EraseVictimEnv, vectorized
from ssdgym.envs.decisions import Decision
from ssdgym.envs.features import Features
from ssdgym.envs.options import Options
from ssdgym.envs.rewards import reward_term, terms
from ssdgym.errors import SsdgymError
from ssdgym.policy import new_choice
from ssdgym.simulator import Simulator
from ssdgym.simulator import families as registry
from ssdgym.simulator.families import FamilyBuilder, register_family
from ssdgym.types import Feature
from tests.engine.devices import device, random_writes
from tests.engine.toy import DRAWER, DRAWERS, TOY


class ToyFtl(FtlConfig):
    mapping: Literal["toy"] = "toy"


class ToyFamily(FamilyBuilder):
    engine = TOY
    policy_decision = DRAWER
    agent_decisions = frozenset({DRAWER})

    def check(self, device: DeviceConfig) -> None:
        pass

    def params(self, device: DeviceConfig) -> dict[str, int]:
        return {}

    def sizes(self, device: DeviceConfig) -> dict[str, int]:
        geometry = device.geometry
        return {"sub_blocks": geometry.planes * geometry.blocks_per_plane}


class DrawerDecision(Decision):
    kind = DRAWER
    features = Features(
        (Feature("fill", "how full the drawer is", "share", 0, 1),),
        (Feature("erases", "drawers emptied", "per host page", 0, 1),),
    )

    def candidates_on(self, devices: object) -> int:
        return DRAWERS

    def spec(self) -> ObservationSpec:
        return ObservationSpec(no_rules(), 1 << DRAWER, np.zeros(0, RULE), False, 1, new_choice())


@dataclass(frozen=True, kw_only=True)
class DrawerOptions(Options):
    horizon: int = 64

    def decision(self) -> Decision:
        return DrawerDecision()


class DrawerEnv(DecisionEnv):
    options_type = DrawerOptions


DrawerVectorEnv = vectorized(DrawerEnv)


@pytest.fixture(autouse=True)
def toy_family(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The family is known during a test only."""
    monkeypatch.setattr(ftl_module, "_FAMILIES", dict(ftl_module._FAMILIES))
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
    monkeypatch.setattr(terms, "TERMS", dict(terms.TERMS))
    reward_term("emptied", "drawers emptied")(lambda device: {"erases": 1.0})
    register_ftl("toy", ToyFtl)
    register_family(ToyFamily())
    yield


def chest() -> DeviceConfig:
    return load_device({**dict(device()), "ftl": {"mapping": "toy", "timing": "none"}})


def test_single__passes_the_checks_of_gymnasium__and_ends_at_its_horizon() -> None:
    env = DrawerEnv(device=chest(), objective={"emptied": 1.0})
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, _, over, info = env.step(steps % DRAWERS)
        total, steps = total + reward, steps + 1
    assert steps == 64 == info["metrics"]["host_pages_written"]
    assert total == -info["metrics"]["erases"] < 0


def test_vector__every_environment_is_the_single_one() -> None:
    single = DrawerEnv(device=chest())
    vector = DrawerVectorEnv(3, device=chest())
    seen, _ = vector.reset(seed=[5, 6, 7])
    alone, _ = single.reset(seed=6)
    for step in range(40):
        assert np.array_equal(seen["candidates"][1], alone["candidates"])
        seen, *_ = vector.step(np.full(3, step % DRAWERS))
        alone, *_ = single.step(step % DRAWERS)
    assert vector.metadata["features"] == {"candidates": ("fill",), "context": ("erases",)}


def test_render__a_family_without_a_map_of_pages__refused() -> None:
    env = DrawerEnv(device=chest(), render_mode="ansi")
    env.reset(seed=1)
    with pytest.raises(
        SsdgymError, match=r"devices of ftl.mapping toy cannot be drawn; leave render_mode out"
    ):
        env.render()


def test_simulator__without_a_policy__leaves_the_decision_of_the_family_to_its_caller() -> None:
    simulator = Simulator(chest(), policy=None)
    simulator.feed(random_writes(5, 20))
    assert simulator.advance() == FIRST_DECISION + DRAWER
    with pytest.raises(SsdgymError, match="a simulator without a policy stops at decisions"):
        simulator.run(random_writes(5, 20))


def test_decision__that_the_family_does_not_describe__refused() -> None:
    with pytest.raises(SsdgymError, match="ftl.mapping toy never waits for .*; choose one of mapping page"):
        EraseVictimEnv(device=chest())
    with pytest.raises(SsdgymError, match="ftl.mapping page never waits for .*; choose one of mapping toy"):
        DrawerEnv(device=device())
