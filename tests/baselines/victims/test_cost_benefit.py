"""Cost-benefit: its search by buckets finds what a look at every block finds, and roots stand for powers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from ssdgym.baselines.victims.cost_benefit import _best_of_all, cost_benefit
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.view import view_arrays
from ssdgym.policy import Policy, blocks_of, eligible, get_policy, new_choice
from ssdgym.simulator import Simulator
from tests.engine.audit import first_fault
from tests.engine.devices import device, differences, full_device, mixed_requests


class Values(NamedTuple):
    """Parameters of the rule."""

    exponent: float
    since_close: float


class Root(float):
    """An exponent no number may be raised to."""

    def __rpow__(self, base: Any, modulus: Any = None) -> Any:
        raise AssertionError("a power was computed")


class Power(float):
    """An exponent that does not say it is 0.5."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = float.__hash__


def by_power(view: Any, plane: int, parameters: Any, choice: Any) -> int:
    """Decide as `cost_benefit` did before it took roots."""
    return int(cost_benefit(view, plane, Values(Power(0.5), parameters.since_close), choice))


def test_half__takes_no_power() -> None:
    sim = Simulator(full_device(), policy=None)
    sim.feed(mixed_requests(900, sim.logical_pages))
    assert sim.advance() == ERASE_DECISION
    plane = int(sim.state.control["decision_plane"][0, 0])
    assert cost_benefit(view_arrays(sim.state, 0), plane, Values(Root(0.5), 0.0), new_choice()) == 1


def test_half__decides_as_the_power_does() -> None:
    roots = get_policy("cost_benefit(exponent=0.5)")
    powers = Policy(replace(roots.victim, function=by_power, compiled=False))
    sims = [Simulator(full_device(), policy=policy) for policy in (roots, powers)]
    for sim in sims:
        sim.run(mixed_requests(2500, sim.logical_pages, gap_ns=900))
        assert sim.metrics()["gc_invocations"] > 100
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


#: What changes on the small device: its geometry, its FTL, other fields.
DEVICES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}, {}),
    "planes": ({"planes_per_die": 2}, {"allocation": "dynamic"}, {"multi_plane": "relaxed"}),
    "streams": ({"blocks_per_plane": 32}, {"placement": "sep_gc"}, {}),
    "sub-blocks": (
        {"sub_blocks_per_block": 4, "layers_per_block": 8},
        {},
        {"erase_unit": "sub_block_run", "isolation": "software"},
    ),
    "wear": ({}, {}, {"cells": {"endurance": {"mean": 40, "spread": 0.3}}}),
}
EXPONENTS = (1.0, 0.5, 2.0, 0.3, 0.07, 0.01, 0.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", DEVICES)
def test_search_by_buckets__finds_what_a_look_at_every_block_finds(kind: str, seed: int) -> None:
    geometry, ftl, fields = DEVICES[kind]
    sim, rng = Simulator(device(geometry, ftl, **fields), policy=None, seed=seed), np.random.default_rng(seed)
    sim.feed(mixed_requests(2500, sim.logical_pages, seed))
    decisions = compared = 0
    while sim.advance() == ERASE_DECISION:
        view, plane = view_arrays(sim.state, 0), int(sim.state.control["decision_plane"][0, 0])
        if decisions % 25 == 0:
            assert first_fault(sim.state, 0) == "none"
            for exponent in EXPONENTS:
                choice = new_choice()
                found = cost_benefit(view, plane, Values(exponent, 0.0), choice)
                expected = _best_of_all.py_func(view, plane, Values(exponent, 0.0))
                assert (int(choice["block"][0]) if found else -1) == expected
                compared += expected >= 0
        decisions += 1
        legal = [int(b) for b in blocks_of(view, plane) if eligible(view, b)]
        sim.apply(int(rng.choice(legal)))
    assert compared > 100
