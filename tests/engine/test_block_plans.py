"""The plans of M-Merge in the engine: figures 10 and 11 of the PEN paper, and the cheapest of all covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import load_device
from ssdgym.engine.core.status import MERGE_DECISION
from ssdgym.requests import TRIM
from ssdgym.simulator import Simulator
from tests.engine.devices import writes
from tests.reference.block.plans import Contents, cheapest

#: Partial block 9 of a block of 576 pages, and partial block 14.
PB_9, PB_14 = range(72, 144), range(432, 504)


def simulator(levels: int, leaf_pages: int, **fields: object) -> Simulator:
    """A filled device of 2 planes, each with 12 logical blocks and room for one update block.

    A copy costs 1,000 ns, and an erase of any size 10,000 ns.
    """
    pages = leaf_pages << levels
    geometry = {
        "channels": 2,
        "blocks_per_plane": 14,
        "pages_per_block": pages,
        "sub_blocks_per_block": 1 << levels,
        "page_size_bytes": 16384,
    }
    device = {
        "name": "pair",
        "geometry": geometry,
        "capacity": {"logical_pages": 2 * 12 * pages},
        "erase_unit": "sub_block_run" if levels else "block",
        "timing": {"read_ns": 100, "program_ns": 900, "erase_ns": 10_000, "transfer_ns_per_byte": 0.0},
        "ftl": {"mapping": "block", "timing": "none", **fields},
    }
    sim = Simulator(load_device(device), policy=None)
    sim.fill()
    return sim


def play(sim: Simulator, requests: np.ndarray) -> bool:
    """Carry out requests up to a decision; returns whether one is due."""
    sim.feed(requests)
    return sim.advance() == MERGE_DECISION


def decide(sim: Simulator, candidate: int) -> None:
    sim.apply(candidate)
    assert sim.advance() != MERGE_DECISION


def ask_for_block(sim: Simulator) -> np.ndarray:
    """Write to logical block 2, of the same plane; returns the figures of the merge that this needs."""
    assert play(sim, writes([2 * sim.device.geometry.pages_per_block]))
    return sim.arrays.figure[0, : int(sim.arrays.case["candidates"][0, 0])]


def test_figure_10__two_partial_erases_and_146_copies_are_3_39_times_as_fast() -> None:
    sim = simulator(levels=6, leaf_pages=9)
    assert not play(sim, writes([*PB_9, *PB_14[2:]]))
    figures = ask_for_block(sim)
    merge, best = figures[0], figures[-1]
    assert (merge["copies"], merge["erases"], merge["cost_ns"]) == (576, 2, 596_000)
    assert (best["out_copies"], best["copies"], best["erases"]) == (2, 146, 3)
    assert best["cost_ns"] == 176_000
    assert merge["cost_ns"] / best["cost_ns"] == pytest.approx(3.39, abs=0.005)


def restored_leaves(sim: Simulator) -> list[int]:
    """Merge logical block 0 by Algorithm 1; returns the leaves of its data block that were erased."""
    leaves = sim.arrays.sub_block["erases"][0, sim.arrays.member[0, 0] * 64 :][:64]
    before = leaves.copy()
    decide(sim, len(ask_for_block(sim)) - 1)
    return np.flatnonzero(leaves - before).tolist()


def test_figure_11__what_was_disturbed_is_restored_before_it_is_lost() -> None:
    sim = simulator(levels=6, leaf_pages=9, disturb_tolerance=1)
    restored = []
    for _ in range(4):
        if play(sim, writes(PB_9)):  # logical block 2 has the only update block
            decide(sim, 0)
        restored.append(restored_leaves(sim))
    assert restored == [
        list(range(8, 16)),
        list(range(7, 17)),
        list(range(8, 16)),
        list(range(6, 18)),
    ]
    assert sim.metrics()["spoiled_pages"] == sim.metrics()["lost_pages"] == 0


def contents_of(sim: Simulator, levels: int) -> Contents:
    """What the engine's arrays say of the data and the update block of logical block 0."""
    arrays, pages = sim.arrays, sim.device.geometry.pages_per_block
    leaves, size = 1 << levels, pages >> levels
    data, update = arrays.member[0, :2]
    held = arrays.sub_block[0, data * leaves : (data + 1) * leaves]
    ppn = arrays.logical["ppn"][0, :pages]
    in_update = (ppn >= update * pages) & (ppn < (update + 1) * pages)
    return Contents(
        levels=levels,
        valid=tuple((held["written"] - held["invalid"]).tolist()),
        invalid=tuple(held["invalid"].tolist()),
        incoming=tuple(in_update.reshape(leaves, size).sum(axis=1).tolist()),
        disturbed=(0,) * leaves,
        copy_ns=1000,
        erase_ns=(10_000,) * (levels + 1),
    )


@given(
    levels=st.integers(0, 4),
    leaf_pages=st.sampled_from((2, 3)),
    written=st.lists(st.integers(0, 10_000), min_size=1, max_size=40),
    trimmed=st.lists(st.integers(0, 10_000), max_size=6),
)
@settings(max_examples=100, deadline=None)
def test_algorithm_1__costs_as_much_as_the_cheapest_of_all_covers(
    levels: int, leaf_pages: int, written: list[int], trimmed: list[int]
) -> None:
    sim = simulator(levels, leaf_pages, disturb_care=False)
    pages = sim.device.geometry.pages_per_block
    written = [page % pages for page in written][: pages - 1]  # the update block is not full
    trimmed = [page % pages for page in trimmed]
    assert not play(sim, np.concatenate([writes(written), writes(trimmed, op=TRIM)]))
    figures = ask_for_block(sim)
    contents = contents_of(sim, levels)
    plan = cheapest(contents, frozenset())
    needed = sum(contents.restore_ns(pb, frozenset()) for pb in plan)
    erases_of_update = figures[-1]["erases"] - len(plan)
    assert erases_of_update in (1, 2)  # as a whole, and before that in part if there was no room
    assert figures[-1]["cost_ns"] == needed + 10_000 * erases_of_update
    assert figures[-1]["out_copies"] == sum(contents.sum_of(contents.valid, pb) for pb in plan)
