"""Idle rules: the third part of a policy, what it asks of the device, and what refuses it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.view import memory_start
from ssdgym.policy import available_rules, device_for, get_policy, idle_policy, tracker
from ssdgym.simulator import Simulator
from tests.engine.devices import device, mixed_requests
from tests.policy.test_refusals import refusal

BUNDLED = ["blocking", "idle_hazard", "idle_predict", "oracle_gap", "threshold"]


def timed(**gc: Any) -> Any:
    return device(ftl={"timing": "event", "gc": {"free_blocks": 2, **gc}})


def test_bundled_idle_rules__all_with_their_source() -> None:
    rules = available_rules("idle")
    assert [name for name in rules if name in BUNDLED] == BUNDLED
    for name in BUNDLED:
        assert rules[name].source
        assert rules[name].function is not None
        assert rules[name].function.__doc__


def test_composition__parts_in_any_order__the_same_policy() -> None:
    policy = get_policy("cost_benefit+sepbit+threshold(blocks=6)")
    assert "idle" in policy.beside
    assert policy.beside["idle"].label == "threshold(blocks=6, share=0)"
    assert policy.label.endswith("+sepbit(nc=16)+threshold(blocks=6, share=0)")
    for text in ("threshold(blocks=6)+cost_benefit+sepbit", "sepbit+threshold(blocks=6)+cost_benefit"):
        assert get_policy(text) == policy
    for copied in (get_policy(policy.label), pickle.loads(pickle.dumps(policy))):
        assert copied == policy
    assert "placement" not in get_policy("greedy+blocking").beside
    assert "idle" not in get_policy("greedy+sep_gc").beside


def test_named_composition__with_an_idle_rule__keeps_its_name() -> None:
    assert get_policy("baseline+blocking").label == "baseline+blocking"
    assert get_policy("baseline+blocking").composition == "greedy+single+blocking"


def test_adapt__the_rule_takes_the_place_of_the_background_share() -> None:
    adapted = device_for(timed(background_fraction=0.2), policy="greedy+blocking")
    assert adapted.ftl.gc.idle == "blocking"
    assert adapted.ftl.gc.background_fraction is None
    kept = device_for(timed(idle="threshold"), policy="greedy")
    assert kept.ftl.gc.idle == "threshold(blocks=4, share=0)"


def test_without_time__refused() -> None:
    reason = "ftl.timing none has no idle time for threshold"
    assert reason in refusal(device_for, device(), policy="greedy+threshold")
    assert "gives both background_fraction and idle" in refusal(
        device_for, "tiny", ftl={"gc": {"free_blocks": 2, "background_fraction": 0.2, "idle": "blocking"}}
    )
    assert "ftl.gc.idle sep_gc does not exist" in refusal(Simulator, timed(idle="sep_gc"), policy="greedy")


def test_idle_rule__of_a_user__with_memory_and_hooks() -> None:
    @idle_policy("counting", source="a test", memory=[("asked", "i8"), ("ns", "i8")])
    def counting(view: Any, die: int, gap_ns: int, parameters: Any) -> int:
        """Make one move at a time."""
        return 1 if gap_ns == -1 else 0

    @counting.on("answered")
    def answered(view: Any, die: int, commands: int, parameters: Any) -> None:
        view.memory[0].asked += commands

    @counting.on("resumed")
    def resumed(view: Any, die: int, idle_ns: int, parameters: Any) -> None:
        view.memory[0].ns += idle_ns

    sim = Simulator(timed(), policy="cost_benefit+sep_gc+counting")
    sim.run(mixed_requests(2000, sim.logical_pages, gap_ns=4000))
    record = np.dtype([("asked", "i8"), ("ns", "i8")], align=True)
    start = memory_start(sim.state, 0, "memory", "idle")
    asked, ns = sim.state.memory[0, start : start + record.itemsize].view(record)[0]
    assert asked > 100
    assert 0 < ns < 2 * sim.now_ns, "two dies"
    assert sim.metrics()["policy_memory_bytes"] == record.itemsize


@pytest.mark.usefixtures("own_registrations")
def test_tracker__hears_of_idle_dies() -> None:
    idle = tracker("idle_times_for_test", source="a test", memory=[("answers", "i8"), ("ns", "i8")])

    @idle.on("answered")
    def answered(view: Any, die: int, commands: int, parameters: Any) -> None:
        view.memory[0].answers += 1

    @idle.on("resumed")
    def resumed(view: Any, die: int, idle_ns: int, parameters: Any) -> None:
        view.memory[0].ns += idle_ns

    config = device(
        ftl={"timing": "event", "gc": {"free_blocks": 2}, "trackers": ["idle_times_for_test"]},
    )
    sim = Simulator(config, policy="greedy+threshold")
    sim.run(mixed_requests(2000, sim.logical_pages, gap_ns=4000))
    start = memory_start(sim.state, 0, "memory", "place")
    answers, ns = sim.state.memory[0, start : start + 16].view("i8")
    assert answers > 100
    assert 0 < ns < 2 * sim.now_ns, "two dies"
