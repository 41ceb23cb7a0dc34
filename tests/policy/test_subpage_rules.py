"""Policies on devices of the sub-page family: victim rules run, and what needs more is refused."""

from __future__ import annotations

import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy, victim_policy
from ssdgym.policy.registry import _RULES
from tests.config.test_subpage import parts


@pytest.mark.parametrize(
    "policy", ["greedy", "cost_benefit(exponent=0.5)", "fifo", "d_choices(d=3)", "random", "windowed_greedy"]
)
def test_adapt__a_rule_for_victims__takes_the_device_as_it_is(policy: str) -> None:
    assert get_policy(policy).adapt(parts()) == parts()


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("greedy+sep_gc", "mapping subpage takes no placement; name a victim rule alone, such as greedy."),
        ("baseline", "on device parts: ftl.mapping subpage takes no placement; name a victim rule"),
        ("greedy+blocking", "on device parts: ftl.mapping subpage takes no idle rule; name a victim rule"),
        ("chain", "takes no victim rule that keeps records or hooks events, as chain does; choose another"),
        ("gsm", "policy gsm erases sub-blocks, and device parts of ftl.mapping subpage erases whole blocks"),
        ("pb", "policy pb erases sub-blocks, and device parts of ftl.mapping subpage erases whole blocks"),
        ("ippbe_multiplane", "has no commands of several planes; set multi_plane to none"),
    ],
)
def test_adapt__what_only_the_page_family_has__refused(policy: str, reason: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        get_policy(policy).adapt(parts())
    assert reason in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize("event", ["written", "erased"])
def test_adapt__a_victim_rule_with_hooks__refused(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdgym.policy.registry._RULES", dict(_RULES))

    @victim_policy("counting", source="this test")
    def counting(view, plane, parameters, choice):  # type: ignore[no-untyped-def]
        """Choose nothing."""
        return 0

    @counting.on(event)
    def hook(view, *what):  # type: ignore[no-untyped-def]
        """Do nothing."""

    with pytest.raises(SsdgymError, match="takes no victim rule that keeps records or hooks events"):
        get_policy("counting").adapt(parts())
    assert get_policy("counting").adapt(load_device("tiny")) == load_device("tiny")
