"""What policies pick, with parameters that `tests/engine/test_against_reference.py` does not have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ssdgym.engine.core.records import INDEXED
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.view import view_arrays
from ssdgym.policy import get_policy, new_choice
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import full_device, mixed_requests


class Plane:
    """What a policy may look at, without the engine's lists."""

    def __init__(self, sim: Simulator) -> None:
        self.number = number = int(sim.state.control["decision_plane"][0, 0])
        block = sim.state.block[0].copy()
        blocks = np.flatnonzero(block["plane"] == number)
        self.eligible = [int(b) for b in blocks if block[b]["status"] & INDEXED and block[b]["invalid"]]
        self.invalid = block["invalid"]
        self.valid = block["written"] - block["invalid"]
        self.closed_at, self.invalidated_at = block["closed_at"], block["invalidated_at"]
        self.clock = int(sim.state.control["clock"][0, 0])


def most_invalid(plane: Plane, pick: int) -> bool:
    return plane.invalid[pick] == max(plane.invalid[b] for b in plane.eligible)


def best_score(exponent: float, since_close: bool) -> Callable[[Plane, int], bool]:
    def score(plane: Plane, b: int) -> float:
        age = plane.clock - (plane.closed_at[b] if since_close else plane.invalidated_at[b]) + 1.0
        return np.inf if plane.valid[b] == 0 else age**exponent * plane.invalid[b] / (2 * plane.valid[b])

    def rule(plane: Plane, pick: int) -> bool:
        return pick == max(plane.eligible, key=lambda b: (score(plane, b), -b))

    return rule


RULES = {
    "windowed_greedy(window=1000)": most_invalid,
    "cost_benefit(since_close=1)": best_score(1, True),
    "cost_benefit(exponent=0.5)": best_score(0.5, False),
    "d_choices(d=500)": most_invalid,
}


def picks(policy: str, seed: int = 0) -> list[tuple[Plane, int]]:
    """The decisions of a run, each with the plane as it was."""
    chosen = get_policy(policy).victim
    config = full_device({"planes_per_die": 2, "sub_blocks_per_block": 2})
    sim = Simulator(config, policy=None, seed=seed, recording=Recording(1, 1))
    sim.feed(mixed_requests(900, sim.logical_pages))
    found = []
    choice = new_choice()
    while sim.advance() == ERASE_DECISION:
        plane = Plane(sim)
        assert chosen.function(view_arrays(sim.state, 0), plane.number, chosen.values, choice) == 1
        assert choice[0]["mask"] == 0b11, "whole blocks"
        pick = int(choice[0]["block"])
        found.append((plane, pick))
        sim.apply(pick)
    assert len(found) > 50
    return found


@pytest.mark.parametrize("policy", RULES)
def test_pick__follows_the_rule(policy: str) -> None:
    for plane, pick in picks(policy):
        assert pick in plane.eligible
        assert RULES[policy](plane, pick), (pick, plane.eligible)


@pytest.mark.parametrize("policy", ["random", "d_choices(d=3)"])
def test_pick__at_random__by_the_seed(policy: str) -> None:
    first, again, other = ([pick for _, pick in picks(policy, seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
