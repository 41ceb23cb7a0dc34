"""The audit of the block family finds what is broken by hand, and spoilt data is counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ssdgym.config.device import load_device
from ssdgym.engine.core.family import State
from ssdgym.simulator import Simulator
from tests.engine import audit as faults
from tests.engine.devices import off_by, writes

PAGES = 8


def used() -> Simulator:
    """A full device of which logical blocks 0 and 2, of the first plane, have update blocks."""
    sim = Simulator("pen-tiny")
    sim.fill()
    sim.run(writes([0, 1, 0, 2 * PAGES]))
    return sim


def page_of(state: State, lpn: int = 0) -> int:
    return int(state.logical["ppn"][0, lpn])


def block_of(state: State) -> int:
    """The block that holds page 0."""
    return page_of(state) // PAGES


def overtake_frontier(state: State) -> None:
    state.frontier[0, block_of(state)] = PAGES


def exchange_members(state: State) -> None:
    state.member[0, [1, 7]] = state.member[0, [7, 1]]


def misplace_page(state: State) -> None:
    """Let two logical pages of a data block change places."""
    one, other = page_of(state, 4), page_of(state, 5)
    state.logical["ppn"][0, [4, 5]] = other, one
    state.physical[0, [one, other]] = state.physical[0, [other, one]]


def hide_bundle(state: State) -> None:
    state.bundle["eligible"][0, 2] = 0


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (off_by(+1, "sub_block", "invalid", page_of), faults.SUB_BLOCK_COUNTS),
        (off_by(-1, "block", "written", block_of), faults.BLOCK_COUNTS),
        (overtake_frontier, faults.BLOCK_COUNTS),
        (off_by(+1, "plane", "free_pages"), faults.FREE_PAGES),
        (off_by(+1, "plane", "valid"), faults.VALID_PAGES),
        (off_by(-1, "plane", "pool_count"), faults.POOL),
        (off_by(+1, "bundle", "invalid"), faults.BUNDLE_BLOCKS),
        (exchange_members, faults.BUNDLE_PAGES),
        (misplace_page, faults.BUNDLE_PAGES),
        (hide_bundle, faults.BUNDLE_LISTS),
        (off_by(-1, "plane", "indexed_blocks"), faults.BUNDLE_LISTS),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_first_fault__a_device_broken_by_hand__is_named(broken: Callable[[State], None], fault: str) -> None:
    sim = used()
    assert faults.first_fault(sim.arrays, 0) == faults.NO_FAULT
    broken(sim.arrays)
    assert faults.first_fault(sim.arrays, 0) == fault


def repeated(care: bool, tolerance: int | None) -> Simulator:
    """Overwrite the same page in the middle of a block again and again, merging in place each time.

    Erases are quick, so that this is cheaper than a Merge even where neighbours are restored.
    """
    device = {
        "base": "pen-tiny",
        "ftl.disturb_care": care,
        "ftl.disturb_tolerance": tolerance,
        "ftl.gc.mmerge_limit": 1000,
        "timing.erase_ns": 1000,
        "timing.partial_erase_ns": {4: 1000, 2: 1000, 1: 1000},
    }
    sim = Simulator(load_device(device), policy="mmerge_fixed(depth=3)")
    sim.fill()
    sim.run(writes([3] * 60))
    return sim


@pytest.mark.parametrize("tolerance", [1, 2])
def test_disturbance__plans_take_care_of_it__nothing_is_spoilt(tolerance: int) -> None:
    sim = repeated(care=True, tolerance=tolerance)
    metrics = sim.metrics()
    assert metrics["m_merges"] > 3
    assert metrics["restored_leaves"] > 0
    assert metrics["spoiled_pages"] == metrics["lost_pages"] == 0


def test_disturbance__nothing_is_tolerated__every_neighbour_would_be_restored_so_a_merge_is_cheaper() -> None:
    metrics = repeated(care=True, tolerance=0).metrics()
    assert metrics["merges"] > 3
    assert metrics["m_merges"] == metrics["spoiled_pages"] == 0


@pytest.mark.parametrize("tolerance", [0, 1, 2])
def test_disturbance__plans_take_no_care_of_it__pages_are_lost(tolerance: int) -> None:
    metrics = repeated(care=False, tolerance=tolerance).metrics()
    assert metrics["spoiled_pages"] >= 2
    assert metrics["lost_pages"] >= 2


def test_disturbance__any_number_is_tolerated__nothing_is_restored_or_spoilt() -> None:
    metrics = repeated(care=True, tolerance=None).metrics()
    assert metrics["restored_leaves"] == metrics["spoiled_pages"] == 0
