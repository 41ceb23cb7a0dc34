"""The audit of the sub-page family finds what is broken by hand, and the engine stops where its rules are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ssdgym.engine.core.family import State
from ssdgym.errors import SsdgymError
from ssdgym.requests import SYNC
from ssdgym.simulator import Simulator
from tests.engine import audit as faults
from tests.engine.devices import off_by
from tests.simulator.test_subpage import filled, small_writes


def used() -> Simulator:
    """A device with parts of 8 groups in its regions, and of 2 in its buffer."""
    sim = filled("subftl")
    sim.run(np.concatenate([small_writes(8, SYNC), small_writes(2, first=20)]))
    return sim


def region_page(state: State) -> int:
    """The page that holds sector 0, which is in a region."""
    return int(state.logical["ppn"][0, 0]) // 4


def region_block(state: State) -> int:
    return region_page(state) // 16


def miscount_page(state: State) -> None:
    state.page_valid[0, 0] += 1


def program_too_often(state: State) -> None:
    state.page_use[0, region_page(state)] += 1


def write_to_reserve(state: State) -> None:
    state.region_block["passes"][0, state.region["reserve"][0, 0]] = 1


def lose_member(state: State) -> None:
    state.member[0, 0] = 0


def split_group(state: State) -> None:
    """Let a sector of a whole group change places with the same one of another."""
    one, other = state.logical["ppn"][0, [401, 405]]
    state.logical["ppn"][0, [401, 405]] = other, one
    state.physical[0, [one, other]] = state.physical[0, [other, one]]


def unpromise(state: State) -> None:
    state.in_flight[0, 80] = 0


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (miscount_page, faults.PAGE_COUNTS),
        (program_too_often, faults.REGION_PAGES),
        (off_by(+1, "region_block", "valid", region_block), faults.REGION_BLOCKS),
        (write_to_reserve, faults.REGION_BLOCKS),
        (lose_member, faults.REGION_BLOCKS),
        (split_group, faults.SPLIT_GROUPS),
        (off_by(+1, "buffer", "count"), faults.BUFFER_LIST),
        (unpromise, faults.BUFFER_LIST),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_first_fault__a_device_broken_by_hand__is_named(broken: Callable[[State], None], fault: str) -> None:
    sim = used()
    assert faults.first_fault(sim.arrays, 0) == faults.NO_FAULT
    broken(sim.arrays)
    assert faults.first_fault(sim.arrays, 0) == fault


@pytest.mark.parametrize("timing", ["none", "event"])
def test_subpage__programmed_once_too_often__stops_the_engine(timing: str) -> None:
    """All pages of the open blocks have taken as many subpages as they hold."""
    sim = filled("subftl", timing)
    sim.run(small_writes(2, SYNC))
    for block in sim.arrays.region["open"][0]:
        sim.arrays.page_use[0, 16 * block : 16 * (block + 1)] = 4
    with pytest.raises(
        SsdgymError, match="has programmed a subpage of a page out of order, which is a fault"
    ):
        sim.run(small_writes(4, SYNC, first=8))
