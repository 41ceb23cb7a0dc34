"""An environment in which an agent chooses the drawer."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import my_lab.chest_device  # noqa: F401  makes the mapping known
import numpy as np
from my_lab.chest import DRAWER, DRAWERS

from ssdgym.engine.decisions import RULE, no_rules
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs import DecisionEnv, vectorized
from ssdgym.envs.decisions import Decision, Options
from ssdgym.envs.features import Features
from ssdgym.envs.rewards import reward_term
from ssdgym.policy import new_choice
from ssdgym.types import Feature


class DrawerDecision(Decision):
    """The decision which drawer a page goes to."""

    kind = DRAWER
    candidates = DRAWERS
    features = Features(
        (Feature("fill", "how full the drawer is", "share", 0, 1),),
        (Feature("erases", "drawers emptied", "per host page", 0, 1),),
    )

    def spec(self) -> ObservationSpec:
        """Return the specification: decisions of this kind are taken outside the engine."""
        return ObservationSpec(no_rules(), 1 << DRAWER, np.zeros(0, RULE), False, 1, new_choice())


@dataclass(frozen=True, kw_only=True)
class DrawerOptions(Options):
    """The arguments of `DrawerEnv`."""

    horizon: int = 64

    def decision(self) -> Decision:
        """Return the decision."""
        return DrawerDecision()


class DrawerEnv(DecisionEnv):
    """One chest."""

    options_type = DrawerOptions


DrawerVectorEnv = vectorized(DrawerEnv)

reward_term("emptied", "drawers emptied")(lambda device: {"erases": 1.0})
gymnasium.register("my_lab/Drawer-v0", DrawerEnv, vector_entry_point=DrawerVectorEnv)
