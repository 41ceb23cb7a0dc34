"""Environments whose decisions devices of the sub-page family do not have refuse them in a sentence."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from ssdgym.errors import SsdgymError
from tests.config.test_subpage import PLAIN


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ssdgym/EraseVictim-v0", "agents are not asked for erases on devices of ftl.mapping subpage"),
        ("ssdgym/ParallelErase-v0", "agents are not asked for erases on devices of ftl.mapping subpage"),
        ("ssdgym/Placement-v0", "device parts of ftl.mapping subpage has no placements; choose one of"),
        ("ssdgym/JointGC-v0", "device parts of ftl.mapping subpage has no placements; choose one of"),
        ("ssdgym/BackgroundGC-v0", "device parts has no idle time; set ftl.mapping to page"),
    ],
)
@pytest.mark.parametrize("many", [False, True], ids=["single", "vector"])
def test_environment__a_device_of_the_sub_page_family__refused(name: str, reason: str, many: bool) -> None:
    make: Any = gym.make_vec if many else gym.make
    with pytest.raises(SsdgymError, match=reason):
        make(name, device=PLAIN)
