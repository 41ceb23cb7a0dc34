"""Idle dies: how far they go with collecting, whoever decides it, and rounds that the host interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.status import IDLE_DECISION, ILLEGAL_ANSWER, INPUT_ENDED, OK
from ssdgym.engine.decisions import IDLE, IDLE_STEPS
from ssdgym.engine.entries import advance, apply
from ssdgym.engine.view import memory_start
from ssdgym.policy import new_choice
from ssdgym.policy.lookup import rules_for
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import copy_device
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import QUICK, agrees, explore, run_both, with_examples
from tests.engine.devices import device, differences, mixed_requests, same_device
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import IDLE_RULES, RECORDING, assert_same, device_config, request_array
from tests.reference import WRITE, Reference, ReferenceConfig
from tests.reference.page import policies
from tests.reference.page.idle import OUTSIDE, IdleHazard, Scripted

PAIRS = new_choice()
NO_CHOICE = new_choice()


@pytest.mark.parametrize("idle", IDLE_RULES)
@with_examples()
def test_idle_rule__agrees_with_the_reference(idle: str, examples: int) -> None:
    explore(examples, lambda data: agrees("greedy", data, timing="event", idle=idle))


@pytest.mark.slow
def test_idle_hazard_for_thousands_of_idle_times__agrees_with_the_reference() -> None:
    """Long enough for its counts to be halved, and for it to wait for longer idle times."""
    config = ReferenceConfig(
        channels=2,
        blocks_per_plane=10,
        logical_pages=50,
        threshold_blocks=1,
        idle="idle_hazard",
        idle_blocks=6,
        preemptible=True,
        timing="event",
        read_ns=1,
        program_ns=3,
        erase_ns=10,
    )
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(3600) < 0.1, rng.integers(30, 300, 3600), 4)
    pages = rng.integers(0, 50, 3600).tolist()
    requests = [(ns, lpn, 1, WRITE, 0) for ns, lpn in zip(np.cumsum(gaps).tolist(), pages, strict=True)]
    sim, reference = run_both(config, "greedy", requests, [], None)
    assert_same(sim, reference)
    rule = reference.loop.idle_rule  # type: ignore[attr-defined]
    assert isinstance(rule, IdleHazard)
    start = memory_start(sim.state, 0, "memory", "idle")
    counts = sim.state.memory[0, start : start + 8 * rule.CLASSES].view("f8")
    assert counts.tolist() == rule.counts
    assert any(count % 1 for count in rule.counts), "an odd count has been halved"


INTERRUPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "sepbit": ("greedy", {"idle": "idle_hazard", "placement": "sepbit"}),
    "hot_cold": ("greedy", {"idle": "idle_hazard", "placement": "hot_cold"}),
    "several planes": ("parallel_gc", {"idle": "threshold", "multi_plane": "strict"}),
}


@pytest.mark.parametrize("kind", INTERRUPTED)
@with_examples(20, thorough=500)
def test_interrupted_rounds__agree_with_the_reference(kind: str, examples: int) -> None:
    policy, how = INTERRUPTED[kind]
    explore(examples, lambda data: agrees(policy, data, timing="event", preemptible=True, **how))


@given(data=st.data())
@settings(QUICK, max_examples=60)
def test_answers_from_outside__agree_with_the_reference(data: st.DataObject) -> None:
    config = data.draw(configs(timing="event", idle="outside"))
    requests = data.draw(request_lists(config.logical_pages, 200))
    seed = data.draw(st.integers(0, 2**32))
    sim = Simulator(device_config(config), policy="greedy", seed=config.seed, recording=RECORDING)
    play(sim, request_array(requests), answers(seed))
    reference = Reference(config, policies.greedy)
    rule = reference.loop.idle_rule  # type: ignore[attr-defined]
    assert isinstance(rule, Scripted)
    rule.answers = answers(seed)
    reference.run(requests)
    assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    assert sim.metrics()["lost_pages"] == 0


def answers(seed: int) -> Iterator[int]:
    """Answers by number, half of them 0."""
    rng = np.random.default_rng(seed)
    while True:
        yield int(max(rng.integers(-7, len(OUTSIDE)), 0))


def play(sim: Simulator, requests: np.ndarray, choices: Iterator[int]) -> int:
    """Carry out requests and answer what is asked about idle dies; return how often it was asked."""
    sim.feed(requests)
    rules, asked = rules_for(sim.device, sim.policy), 0
    while (kind := advance(sim.arrays, 0, requests, True, rules, 1 << IDLE, PAIRS)) != INPUT_ENDED:
        assert kind == IDLE_DECISION
        asked += 1
        assert apply(sim.arrays, 0, rules, NO_CHOICE, next(choices)) == OK
    return asked


def simulator(gc: dict[str, Any], policy: str = "greedy", **ftl: Any) -> Simulator:
    gc = {"free_blocks": 2, **gc}
    return Simulator(
        device({"planes_per_die": 2}, {"timing": "event", "gc": gc, **ftl}), policy=policy, seed=3
    )


#: What differs where the same is done by another rule: its parameters, and what is kept of idle times.
KEPT = ("params.", "die.idle", "control.decision", "control.resumes")


@pytest.mark.parametrize("allocation", ["static", "late"])
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_threshold__does_what_the_background_share_does(allocation: str, share: float) -> None:
    by_share = simulator({"background_fraction": share}, allocation=allocation)
    by_rule = simulator({}, f"greedy+threshold(share={share})", allocation=allocation)
    for sim in (by_share, by_rule):
        sim.run(mixed_requests(2500, sim.logical_pages, gap_ns=3000))
    found = differences(by_share.state, 0, by_rule.state, 0)
    assert [name for name in found if not name.startswith(KEPT)] == []
    assert by_share.metrics()["gc_time_ns"] > 0


def test_blocking__does_what_no_rule_does() -> None:
    without, blocking = simulator({}), simulator({}, "greedy+blocking")
    for sim in (without, blocking):
        sim.run(mixed_requests(2500, sim.logical_pages, gap_ns=3000))
    found = differences(without.state, 0, blocking.state, 0)
    assert [name for name in found if not name.startswith(KEPT)] == []


@pytest.mark.parametrize("preemptible", [False, True])
def test_threshold_from_outside__the_same_device(preemptible: bool) -> None:
    inside = simulator({"preemptible": preemptible}, "greedy+threshold(blocks=5)")
    outside = simulator({"preemptible": preemptible}, "greedy+threshold(blocks=5)")
    requests = mixed_requests(2500, inside.logical_pages, gap_ns=3000)
    inside.run(requests)

    def threshold() -> Iterator[int]:
        limit = 5 * outside.device.geometry.pages_per_block
        while True:
            plane = int(outside.state.control["decision_plane"][0, 0])
            record = outside.state.plane[0, plane]
            yield 7 if record["round_leader"] >= 0 or record["free_pages"] < limit else 0

    assert play(outside, requests, threshold()) > 100
    found = differences(inside.state, 0, outside.state, 0)
    assert {name for name in found if not name.startswith("control.decision")} == set()


def test_commands__counted__and_ended_by_the_erase() -> None:
    """Each answer is used up by as many commands, or by the erase of the round."""
    sim = simulator({}, "greedy+blocking", queue_depth=0)
    requests = mixed_requests(1500, sim.logical_pages, gap_ns=6000)
    rules = rules_for(sim.device, sim.policy)
    sim.feed(requests)
    seen = set()
    while advance(sim.arrays, 0, requests, True, rules, 1 << IDLE, PAIRS) != INPUT_ENDED:
        die = sim.state.die[0, int(sim.state.control["decision_subject"][0, 0])]
        assert die["idle"] == 1
        assert die["idle_steps"] == 0
        seen.add(int(die["idle_answers"]))
        assert apply(sim.arrays, 0, rules, NO_CHOICE, 2) == OK
    assert max(seen) > 3, "a die is asked again when its commands are used up"


def test_no_such_answer__refused__with_the_device_as_it_was() -> None:
    sim = simulator({})
    requests = mixed_requests(500, sim.logical_pages, gap_ns=3000)
    sim.feed(requests)
    rules = rules_for(sim.device, sim.policy)
    assert advance(sim.arrays, 0, requests, True, rules, 1 << IDLE, PAIRS) == IDLE_DECISION
    before = copy_device(sim.state, 0)
    for answer in (-1, len(IDLE_STEPS)):
        assert apply(sim.arrays, 0, rules, NO_CHOICE, answer) == ILLEGAL_ANSWER
        assert same_device(sim.state, 0, before, 0)
    assert advance(sim.arrays, 0, requests, True, rules, 1 << IDLE, PAIRS) == IDLE_DECISION
    assert same_device(sim.state, 0, before, 0), "asking twice changes nothing"


def test_preemptible__writes_do_not_wait_for_rounds() -> None:
    """The host writes in the middle of rounds, and the slowest of its writes are faster."""
    slowest, relocated = {}, {}
    for preemptible in (False, True):
        sim = simulator({"preemptible": preemptible, "background_fraction": 0.2})
        requests = mixed_requests(3000, sim.logical_pages, gap_ns=8000)
        metrics = sim.run(requests)
        slowest[preemptible] = metrics["write_latency_ns"]["p99"]
        relocated[preemptible] = metrics["relocated_pages"]
        assert metrics["lost_pages"] == 0
        assert first_fault(sim.arrays, 0) == NO_FAULT
    assert slowest[True] < slowest[False]
    assert relocated[True] > 0
