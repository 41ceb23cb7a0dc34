"""The exponent 0.5 of cost-benefit is a square root: the same decisions without a power."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ssdgym.baselines.victims.cost_benefit import cost_benefit
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.view import view_arrays
from ssdgym.policy import Policy, get_policy, new_choice
from ssdgym.simulator import Simulator
from tests.engine.devices import differences, full_device, mixed_requests


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
