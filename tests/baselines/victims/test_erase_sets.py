"""What ``gsm`` and ``pb`` erase, decision by decision, against all the sets they may choose from."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.records import INDEXED
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.view import view_arrays
from ssdgym.policy import device_for, get_policy, new_choice
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device, random_writes

S = 4
GEOMETRY = {"blocks_per_plane": 24, "pages_per_block": 32, "layers_per_block": 16, "sub_blocks_per_block": S}

#: Sub-blocks of a set in the order in which they were put into it, and the block.
Choice = tuple[int, tuple[int, ...]]


class Plane:
    """The plane a decision is due in: of every block that may be erased, its sub-blocks' pages."""

    def __init__(self, sim: Simulator) -> None:
        self.number = int(sim.state.control["decision_plane"][0, 0])
        self.device = sim.device
        block = sim.state.block[0]
        pages = sim.state.sub_block[0].copy().reshape(len(block), S)
        indexed = np.flatnonzero((block["plane"] == self.number) & (block["status"] & INDEXED != 0))
        self.invalid = {int(b): pages["invalid"][b].tolist() for b in indexed}
        self.valid = {int(b): (pages["written"][b] - pages["invalid"][b]).tolist() for b in indexed}
        timing = self.device.timing
        self.copy_ns = timing.read_ns + timing.program_ns + 2 * self.device.transfer_ns
        pool_pages = int(sim.state.plane["pool_pages"][0, self.number])
        at_floor = pool_pages < 2 * self.device.usable.pages_per_block
        self.must_gain = self.device.ftl.gc.mode == "barrier" or at_floor

    def neighbours(self, chosen: tuple[int, ...]) -> set[int]:
        if self.device.isolation != "software":
            return set()
        return {s + d for s in chosen for d in (-1, 1) if 0 <= s + d < S} - set(chosen)

    def gain(self, choice: Choice) -> int:
        return sum(self.invalid[choice[0]][s] for s in choice[1])

    def neighbours_valid(self, choice: Choice) -> int:
        return sum(self.valid[choice[0]][s] for s in self.neighbours(choice[1]))

    def benefit(self, choice: Choice) -> Fraction:
        moves = sum(self.valid[choice[0]][s] for s in choice[1]) + self.neighbours_valid(choice)
        return Fraction(self.gain(choice), moves * self.copy_ns + self.device.timing.erase_ns)

    def runs(self) -> Iterator[Choice]:
        for block in self.invalid:
            for first in range(S):
                for end in range(first + 1, S + 1):
                    yield block, tuple(range(first, end))

    def prefixes(self) -> Iterator[Choice]:
        """The best beginning of each block's sub-blocks, those with most invalid pages first."""
        for block, invalid in self.invalid.items():
            order = sorted(range(S), key=lambda s: (-invalid[s], s))
            yield max(
                ((block, tuple(order[:length])) for length in range(1, S + 1)),
                key=lambda choice: (self.benefit(choice), -len(choice[1])),
            )

    def best(self) -> Choice:
        choices = self.runs() if self.device.erase_unit == "sub_block_run" else self.prefixes()
        return max(choices, key=lambda c: (self.benefit(c), -len(c[1]), -min(c[1]), -c[0]))


def decisions(policy: str, gc: dict[str, Any], seed: int) -> Iterator[tuple[Plane, Choice]]:
    """The decisions of a run, each with the plane as it was."""
    config = device(GEOMETRY, {"placement": "single", "gc": gc}, over_provisioning=1.5)
    rule = get_policy(policy).victim
    sim = Simulator(device_for(config, None, policy), policy=None, recording=Recording(1, 1))
    # Whole extents are written, so that sub-blocks next to each other become invalid together.
    requests = random_writes(1000, sim.logical_pages - 16, seed)
    requests["pages"] = 16
    sim.feed(requests)
    choice = new_choice()
    while sim.advance() == ERASE_DECISION:
        plane = Plane(sim)
        assert rule.function(view_arrays(sim.state, 0), plane.number, rule.values, choice) == 1
        block, mask = int(choice[0]["block"]), int(choice[0]["mask"])
        yield plane, (block, tuple(s for s in range(S) if mask >> s & 1))
        sim.apply(block, mask)


@pytest.mark.parametrize("gc", [{"free_blocks": 3}, {"mode": "per_write", "free_fraction": 0.25}], ids=str)
@pytest.mark.parametrize("policy", ["gsm", "pb"])
def test_pick__is_the_best_set_of_the_plane__or_the_fullest_block(policy: str, gc: dict[str, Any]) -> None:
    best_taken = parts_taken = 0
    for plane, (block, chosen) in decisions(policy, gc, seed=3):
        best = plane.best()
        if not plane.must_gain or plane.gain(best) > plane.neighbours_valid(best):
            assert (block, chosen) == (best[0], tuple(sorted(best[1])))
            best_taken += 1
            parts_taken += len(chosen) < S
        else:
            assert chosen == tuple(range(S))
            assert sum(plane.invalid[block]) == max(map(sum, plane.invalid.values()))
    assert best_taken > 30
    assert parts_taken > 10
