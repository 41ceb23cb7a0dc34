"""Old names of `ssdgym.policy` work for one more version."""

from __future__ import annotations

from typing import Any

import pytest

import ssdgym.policy
from ssdgym.policy import get_policy, victim_policy
from ssdgym.simulator import Simulator
from tests.engine.devices import differences, full_device, random_writes


@pytest.mark.parametrize(("old", "new"), [("whole_block", "choose_block"), ("named_policy", "policy_alias")])
def test_old_name__is_the_new_one(old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=rf"ssdgym\.policy\.{old} is now called ssdgym\.policy\.{new}"):
        assert getattr(ssdgym.policy, old) is getattr(ssdgym.policy, new)


def test_old_arguments__of_victim_policy() -> None:
    with pytest.warns(FutureWarning, match="argument (least|most) of victim_policy is now called m"):

        @victim_policy("limited", source="a test", parameters={"d": 2}, least={"d": 1}, most={"d": 3})
        def limited(view: Any, plane: int, parameters: Any, choice: Any) -> int:
            return 0

    rule = get_policy("limited").victim
    assert (rule.minimum, rule.maximum) == ({"d": 1}, {"d": 3})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("function", "victim.function"),
        ("vector", "victim.vector"),
        ("least", "victim.minimum"),
        ("stands_for", "alias_of"),
    ],
)
def test_old_attribute__of_a_policy(old: str, new: str) -> None:
    policy = get_policy("d_choices(d=5)")
    with pytest.warns(FutureWarning, match=f"Policy.{old} is now called Policy.{new}") as caught:
        value = getattr(policy, old)
    assert caught[0].filename == __file__
    for name in new.split("."):
        policy = getattr(policy, name)
    assert value is policy
    with pytest.raises(AttributeError, match="'Policy' object has no attribute 'other'"):
        _ = get_policy("greedy").other  # type: ignore[attr-defined]


def test_old_helpers__by_number_of_invalid_pages__still_compile_into_a_rule() -> None:
    with pytest.warns(FutureWarning, match=r"fullest_block is now called ssdgym\.policy\.most_invalid_block"):
        from ssdgym.policy import fullest_block  # type: ignore[attr-defined]
    with pytest.warns(FutureWarning, match=r"next_fullest is now called ssdgym\.policy\.next_by_invalid"):
        from ssdgym.policy import next_fullest  # type: ignore[attr-defined]
    choose_block = ssdgym.policy.choose_block

    def old_greedy(dev, plane, parameters, choice):  # type: ignore[no-untyped-def]
        params = dev.params[0]
        block = fullest_block(dev, params, plane)
        return choose_block(dev, choice, block) if next_fullest(dev, params, plane, block) > -2 else 0

    victim_policy("old_greedy", source="a test")(old_greedy)
    sims = [Simulator(full_device(), policy=name) for name in ("old_greedy", "greedy")]
    for sim in sims:
        sim.run(random_writes(600, sim.logical_pages))
    assert differences(sims[0].state, 0, sims[1].state, 0) == []
