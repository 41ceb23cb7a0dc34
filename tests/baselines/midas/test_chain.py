"""Worked examples of the chain: who is collected, where its pages go, and what folds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.baselines.midas import epochs as groups
from ssdgym.engine.view import view_arrays
from ssdgym.policy.on_device import beside_on
from ssdgym.simulator import Simulator
from tests.engine.devices import device, random_writes, writes

BLOCKS, PAGES, LOGICAL = 32, 4, 40


def view_of(sim: Simulator) -> Any:
    rule = beside_on(sim.device)["placement"]
    return view_arrays(sim.arrays, 0, rule.memory, "place")


def simulator(blocks: int, logical_pages: int) -> Simulator:
    geometry = {"channels": 1, "blocks_per_plane": blocks, "pages_per_block": PAGES}
    config = device(geometry, {"gc": {"free_blocks": 2}}, logical_pages=logical_pages)
    return Simulator(config, policy="midas")


def filled(*sizes: int) -> Simulator:
    """A device whose pages are in its first ten blocks, in order; GC begins with two free blocks left.

    With sizes, two groups of these sizes and a last one are put in force: the ten blocks have been G1's.
    """
    sim = simulator(BLOCKS, LOGICAL)
    sim.run(writes([0]))
    if sizes:
        groups.change(view_of(sim), (BLOCKS, BLOCKS))
    sim.run(writes(range(1, LOGICAL)))
    if sizes:
        groups.change(view_of(sim), sizes)
    return sim


def erased(sim: Simulator) -> list[int]:
    """Blocks that have been erased."""
    return np.flatnonzero(sim.state.sub_block[0]["erases"]).tolist()


def open_streams(sim: Simulator) -> set[int]:
    """Streams that have an open block."""
    return set(np.flatnonzero(view_of(sim).open_sub_block >= 0).tolist())


def first_victim(sim: Simulator, lpns: Any) -> int:
    """Write pages until a block is erased."""
    for lpn in lpns:
        sim.run(writes([lpn]))
        if erased(sim):
            return erased(sim)[0]
    raise AssertionError("nothing was collected")


def test_beginning__all_closed_blocks_are_in_g1() -> None:
    view = view_of(filled())
    assert view.block_memory.group[view.block_memory.listed != 0].tolist() == [1] * 10
    assert (view.memory[0].last, view.memory[0].top) == (1, 4)


def test_configuration__gives_the_oldest_blocks_over_the_size_to_the_last_group_without_moving_them() -> None:
    sim = filled(BLOCKS, 3)
    view = view_of(sim)
    assert view.block_memory.group[:10].tolist() == [2] * 7 + [1] * 3
    assert sim.metrics()["relocated_pages"] == 0
    g1, last = view.stream_memory[1], view.stream_memory[2]
    assert (g1.oldest, g1.newest, g1.sealed) == (7, 9, 3)
    assert (last.oldest, last.newest, last.sealed) == (0, 6, 7)
    assert view.block_memory.next[:10].tolist() == [1, 2, 3, 4, 5, 6, -1, 8, 9, -1]


def test_victim__oldest_block_of_a_group_over_its_size__though_others_hold_nothing() -> None:
    """Blocks 0 to 6 have no valid page left, block 7 has four less one; G1 holds it and all new ones."""
    sim = filled(BLOCKS, 3)
    rewritten = [*range(29), *(28 * [28])] * 3
    assert first_victim(sim, rewritten) == 7
    moved = sim.state.logical[0, [29, 30, 31]]["ppn"] // PAGES
    assert set(sim.state.block[0, moved]["stream"]) == {2}, "one group on"


@pytest.mark.parametrize(("size", "collected"), [(14, [7]), (15, [1, 7])])
def test_victim__group_of_15_blocks__its_oldest_first_where_one_is_too_many(
    size: int, collected: list[int]
) -> None:
    """Block 7 is all invalid, and of the last group block 1 has one invalid page."""
    sim = filled(BLOCKS, 3)
    view_of(sim).memory[0].limit[1] = size
    first_victim(sim, [28, 29, 30, 31, 4, *(30 * [32, 33, 34, 35])])
    assert erased(sim) == collected


def test_victim__no_group_over_its_size__the_best_of_the_last_group() -> None:
    """Block 8, in G1, is all invalid, too, and block 3 of the last group before the others."""
    sim = filled(BLOCKS, 3)
    view_of(sim).memory[0].limit[1] = BLOCKS
    rewritten = [*range(12, 16), *range(32, 36), *(20 * [12, 13, 14, 15])]
    assert first_victim(sim, rewritten) == 3


def test_victim__while_no_configuration_is_in_force__the_best_of_all() -> None:
    rewritten = [*range(32, 36), *(30 * [32, 33, 34, 35])]
    assert first_victim(filled(), rewritten) == 8


def test_block_without_an_invalid_page__joins_the_next_group_as_it_is() -> None:
    """Block 7 is the oldest of G1, and erasing it would win nothing."""
    sim = filled(BLOCKS, 3)
    assert first_victim(sim, [32, *(30 * [36, 37, 38, 39])]) == 8
    view = view_of(sim)
    assert view.block_memory.group[7] == 2
    assert view.stream_memory[2].newest == 7
    assert set(sim.state.logical[0, 28:32]["ppn"] // PAGES) == {7}, "no page has been moved"
    assert view.memory[0].valid[1] == 1 + 3 / PAGES, "of block 7, and of block 8"


def test_block_without_an_invalid_page__as_many_as_are_over_the_size__the_last_group_gives_a_victim() -> None:
    """G1 is one block too large, its oldest has nothing invalid, and the next one is all invalid."""
    sim = filled(BLOCKS, 3)
    view_of(sim).memory[0].limit[1] = 14
    assert first_victim(sim, [0, 4, 8, 12, *(30 * [32, 33, 34, 35])]) == 0
    assert view_of(sim).block_memory.group[[7, 8]].tolist() == [2, 1]


def test_last_group_without_an_invalid_page__folds_the_chain() -> None:
    """G1 is not over its size, and only its blocks have anything to win."""
    sim = filled(BLOCKS, 3)
    view_of(sim).memory[0].limit[1] = BLOCKS
    first_victim(sim, 30 * [36, 37, 38, 39])
    memory = view_of(sim).memory[0]
    assert (memory.last, memory.top) == (1, 4)


def test_victims_for_one_host_page__25_of_them__fold_the_chain_into_a_tail() -> None:
    sim = simulator(96, 100)
    sim.arrays.params["stop_pool"] = 40 * PAGES
    sim.run(writes(range(100)))
    view = view_of(sim)
    groups.change(view, (0, 3, 3))
    view.memory[0].configured = 3
    before = sim.metrics()["gc_invocations"]
    while sim.metrics()["gc_invocations"] == before:
        sim.run(random_writes(1, 100, seed=int(sim.metrics()["host_pages_written"])))
    memory = view_of(sim).memory[0]
    assert sim.metrics()["gc_invocations"] - before >= 25
    assert (memory.last, memory.top) == (1, 4)
    assert memory.configured == 0
    assert memory.irregular == 1


def test_streams_of_groups_that_are_gone__are_filled_up_by_the_last_group() -> None:
    """A tail has open blocks in streams 2 to 4; with two groups, pages of the last one go there first."""
    sim = simulator(96, 320)
    sim.fill()
    sim.run(random_writes(3000, 320, seed=2))
    assert {3, 4} <= open_streams(sim)
    groups.change(view_of(sim), (0, 8))
    sim.run(random_writes(600, 320, seed=3))
    assert open_streams(sim) <= {0, 1, 2}
    assert sim.metrics()["lost_pages"] == 0
