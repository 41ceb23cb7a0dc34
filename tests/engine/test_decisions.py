"""Decisions about streams: asked for before anything moves, whoever takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.engine import decisions
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.core.status import (
    ERASE_DECISION,
    ILLEGAL_ANSWER,
    INPUT_ENDED,
    OK,
    PLACE_DECISION,
    RELOCATE_DECISION,
)
from ssdgym.engine.decisions import KINDS, MERGE, PLACE, REGION, RELOCATE, TRACKERS
from ssdgym.engine.entries import advance, apply
from ssdgym.policy.lookup import rules_for
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import copy_device
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, differences, mixed_requests, same_device

PAIRS = np.zeros(MAX_PAIRS, ERASE_PAIR)
#: What sep_gc answers.
STREAMS = {PLACE_DECISION: 0, RELOCATE_DECISION: 1}
#: Where a device that is asked outside notes what it is asked, and where the moves of its last round stand: a
#: round whose pages all go to one stream moves them without it.
ASKED = {"control.decision_kind", "control.decision_subject", "plane.round_pair", "plane.round_page"}
ASKED |= {"control.request_lpn", "control.request_pages"}  # which nobody else asks for
FTLS: dict[str, dict[str, Any]] = {
    "untimed": {"timing": "none"},
    "event": {"timing": "event"},
    "dynamic": {"timing": "event", "allocation": "dynamic"},
    "late, untimed": {"timing": "none", "allocation": "late"},
    "background": {"timing": "event", "gc": {"free_blocks": 2, "background_fraction": 0.2}},
}


def simulator(ftl: dict[str, Any]) -> Simulator:
    return Simulator(device({"planes_per_die": 2}, {"placement": "sep_gc", **ftl}), policy="greedy", seed=3)


@pytest.mark.parametrize("ftl", FTLS.values(), ids=FTLS)
@pytest.mark.parametrize("kinds", [(PLACE,), (RELOCATE,), (PLACE, RELOCATE)], ids=["host", "moved", "both"])
def test_streams_chosen_outside__as_the_placement_does__the_same_device(
    ftl: dict[str, Any], kinds: tuple[int, ...]
) -> None:
    inside, outside = simulator(ftl), simulator(ftl)
    requests = mixed_requests(1500, inside.logical_pages, gap_ns=900)
    inside.run(requests)
    rules = rules_for(inside.device, inside.policy)
    outside.feed(requests)
    asked = dict.fromkeys(STREAMS, 0)
    external = sum(1 << kind for kind in kinds)
    while (kind := advance(outside.arrays, 0, requests, True, rules, external, PAIRS)) != INPUT_ENDED:
        assert kind in STREAMS, kind
        asked[kind] += 1
        assert apply(outside.arrays, 0, rules, PAIRS, STREAMS[kind]) == OK
    assert set(differences(inside.state, 0, outside.state, 0)) <= ASKED
    metrics = inside.metrics()
    assert asked[PLACE_DECISION] == (metrics["host_pages_written"] if PLACE in kinds else 0)
    assert asked[RELOCATE_DECISION] == (metrics["relocated_pages"] if RELOCATE in kinds else 0)


@pytest.mark.parametrize("timing", ["none", "event"])
def test_no_such_stream__refused__with_the_device_as_it_was(timing: str) -> None:
    sim = simulator({"timing": timing})
    requests = mixed_requests(50, sim.logical_pages)
    rules = rules_for(sim.device, sim.policy)
    assert advance(sim.arrays, 0, requests, True, rules, 1 << PLACE, PAIRS) == PLACE_DECISION
    before = copy_device(sim.state, 0)
    for stream in (-1, 2):
        assert apply(sim.arrays, 0, rules, PAIRS, stream) == ILLEGAL_ANSWER
        assert same_device(sim.state, 0, before, 0)
    assert advance(sim.arrays, 0, requests, True, rules, 1 << PLACE, PAIRS) == PLACE_DECISION
    assert same_device(sim.state, 0, before, 0), "asking twice changes nothing"


@pytest.mark.parametrize("timing", ["none", "event"])
def test_all_kinds_outside__random_answers__nothing_is_lost(timing: str) -> None:
    sim = simulator({"timing": timing})
    requests = mixed_requests(1500, sim.logical_pages, gap_ns=900)
    rules, rng = rules_for(sim.device, sim.policy), np.random.default_rng(0)
    sim.feed(requests)
    kinds = set()
    while (kind := advance(sim.arrays, 0, requests, True, rules, 0b111, PAIRS)) != INPUT_ENDED:
        kinds.add(kind)
        plane = int(sim.state.control["decision_plane"][0, 0])
        blocks = sim.state.block[0, plane * 16 : plane * 16 + 16]
        if kind == ERASE_DECISION:
            indexed = np.flatnonzero(blocks["status"] & 2)
            chosen = np.zeros(MAX_PAIRS, ERASE_PAIR)
            chosen[0] = (1, plane * 16 + indexed[np.argmax(blocks["invalid"][indexed])])
            assert apply(sim.arrays, 0, rules, chosen, 0) == OK
        else:
            assert apply(sim.arrays, 0, rules, PAIRS, int(rng.integers(2))) == OK
    assert kinds == {ERASE_DECISION, PLACE_DECISION, RELOCATE_DECISION}
    assert first_fault(sim.arrays, 0) == NO_FAULT
    assert sim.metrics()["lost_pages"] == 0


def test_listener__rules_of_all_kinds_but_three__then_trackers() -> None:
    listener = getattr(decisions.listener, "py_func", decisions.listener)
    kinds = [kind for kind in range(TRACKERS) if kind not in (RELOCATE, REGION, MERGE)]
    assert [listener(k) for k in range(len(kinds) + 2)] == [*kinds, TRACKERS, TRACKERS + 1]
    assert len(KINDS) == TRACKERS
