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
        ("ssdgym/EraseVictim-v0", "of ftl.mapping subpage never waits for the decision"),
        ("ssdgym/ParallelErase-v0", "of ftl.mapping subpage never waits for the decision"),
        ("ssdgym/Placement-v0", "of ftl.mapping subpage never waits for the decision"),
        ("ssdgym/JointGC-v0", "of ftl.mapping subpage never waits for the decision"),
        ("ssdgym/BackgroundGC-v0", "of ftl.mapping subpage never waits for the decision"),
    ],
)
@pytest.mark.parametrize("many", [False, True], ids=["single", "vector"])
def test_environment__a_device_of_the_sub_page_family__refused(name: str, reason: str, many: bool) -> None:
    make: Any = gym.make_vec if many else gym.make
    with pytest.raises(SsdgymError, match=reason):
        make(name, device=PLAIN)
