"""The audit of the block family finds what is broken by hand, and spoilt data is counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ssdgym.config.device import load_device
from ssdgym.engine.core.family import State
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from tests.engine import audit as faults

PAGES = 8


def writes(*pages: int) -> np.ndarray:
    requests = np.zeros(len(pages), REQUEST)
    requests["op"] = WRITE
    requests["lpn"] = pages
    requests["pages"] = 1
    return requests


def used() -> Simulator:
    """A full device of which logical blocks 0 and 2, of the first plane, have update blocks."""
    sim = Simulator("pen-tiny")
    sim.fill()
    sim.run(writes(0, 1, 0, 2 * PAGES))
    return sim


def page_of(state: State, lpn: int) -> int:
    return int(state.logical["ppn"][0, lpn])


def miscount_sub_block(state: State) -> None:
    state.sub_block["invalid"][0, page_of(state, 0)] += 1


def miscount_block(state: State) -> None:
    state.block["written"][0, page_of(state, 0) // PAGES] -= 1


def overtake_frontier(state: State) -> None:
    state.frontier[0, page_of(state, 0) // PAGES] = PAGES


def miscount_free(state: State) -> None:
    state.plane["free_pages"][0, 0] += 1


def miscount_valid(state: State) -> None:
    state.plane["valid"][0, 0] += 1


def lose_block(state: State) -> None:
    state.plane["pool_count"][0, 0] -= 1


def miscount_bundle(state: State) -> None:
    state.bundle["invalid"][0, 0] += 1


def exchange_members(state: State) -> None:
    state.member[0, [1, 7]] = state.member[0, [7, 1]]


def misplace_page(state: State) -> None:
    """Let two logical pages of a data block change places."""
    one, other = page_of(state, 4), page_of(state, 5)
    state.logical["ppn"][0, [4, 5]] = other, one
    state.physical[0, [one, other]] = state.physical[0, [other, one]]


def hide_bundle(state: State) -> None:
    state.bundle["eligible"][0, 2] = 0


def unlist_bundle(state: State) -> None:
    state.plane["indexed_blocks"][0, 0] -= 1


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (miscount_sub_block, faults.SUB_BLOCK_COUNTS),
        (miscount_block, faults.BLOCK_COUNTS),
        (overtake_frontier, faults.BLOCK_COUNTS),
        (miscount_free, faults.FREE_PAGES),
        (miscount_valid, faults.VALID_PAGES),
        (lose_block, faults.POOL),
        (miscount_bundle, faults.BUNDLE_BLOCKS),
        (exchange_members, faults.BUNDLE_PAGES),
        (misplace_page, faults.BUNDLE_PAGES),
        (hide_bundle, faults.BUNDLE_LISTS),
        (unlist_bundle, faults.BUNDLE_LISTS),
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
    sim.run(writes(*[3] * 60))
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
