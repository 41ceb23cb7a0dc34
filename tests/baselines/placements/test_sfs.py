"""SFS: the hotness of pages and blocks, and the centres that blocks cluster around."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.engine.view import view_arrays
from ssdgym.policy import PlacementRule, available_rules
from ssdgym.simulator import Simulator
from tests.baselines.placements.bench import Bench
from tests.engine.devices import device, mixed_requests


def centres(bench: Bench) -> list[float]:
    return [float(centre) for centre in bench.memory.stream_memory["centre"][:6]]


def clustered() -> Bench:
    """Return a device after eight writes, of which the centres are 2 / 15 and five times 0."""
    bench = Bench("sfs(period=1)", logical_pages=20)
    # First writes are infinitely hot. Of equal centres, here all 0, the last one is taken.
    assert bench.write(0, 1, 2, 3) == [0, 0, 0, 0]
    assert bench.write(2, 3, 2) == [5, 5, 5]
    bench.collect(3, after_writing=9)
    # At 8 the index holds the block of pages 0 and 1, written once each at 0 and 1, and one without pages.
    assert centres(bench) == [2 / (2 * 8 - 1), 0, 0, 0, 0, 0]
    return bench


def test_pages__go_to_the_nearest_centre() -> None:
    bench = clustered()
    # Page 3 has been written twice, at 5 the last time: 2 / 3 is nearer to 2 / 15 than to 0.
    assert bench.stream(3) == 0
    # At 8: one write, at 0, and 1 / 8 is nearer to 2 / 15, too.
    assert bench.write(0) == [0]
    # At 17: one write, at 1, and 1 / 16 is nearer to 0, of which the last one is taken.
    bench.write(*[9] * 8)
    assert bench.write(1) == [5]


def test_trim__makes_a_page_one_that_was_never_written() -> None:
    bench = clustered()
    bench.write(*[9] * 30)
    bench.trim(1)
    assert bench.write(1, 0) == [0, 5]


def test_centres__are_means_of_clusters_after_three_rounds() -> None:
    bench = clustered()
    assert bench.write(0, 9, 9) == [0, 0, 0]
    bench.collect(0, after_writing=2)
    # At 12 the index holds three blocks with valid pages: one has page 1, written once, at 1; one has page 3,
    # written twice, at 5 the last time; one has page 9, three times, at 10, and page 2, four times, at 11.
    # Round 1 puts all of them to 2 / 15, round 2 the colder two to 0, and round 3 the coldest to the next 0.
    assert centres(bench) == [7 / (2 + 1), 2 / 7, 1 / 11, 0, 0, 0]


def test_centres__are_found_at_the_first_victim_and_every_period() -> None:
    bench = Bench("sfs(period=3)", logical_pages=20)
    bench.write(*range(8), *range(0, 8, 2))
    found = []
    for lpn in (1, 3, 5, 7):
        bench.collect(lpn, after_writing=9)
        found.append(centres(bench))
    assert found[0] == found[1] == found[2] != found[3]
    assert bench.memory.stream_memory["victims"][0] == 4


@pytest.mark.parametrize("timing", ["none", "event"])
def test_sums_of_blocks__are_those_of_their_valid_pages(timing: str) -> None:
    sim = Simulator(device({"blocks_per_plane": 64}, {"timing": timing}), policy="greedy+sfs")
    assert sim.run(mixed_requests(6000, sim.logical_pages))["erases"] > 100
    memory = view_arrays(sim.state, 0, available_rules(PlacementRule)["sfs"].memory, "place")
    ppn = sim.state.logical["ppn"][0]
    for field in ("writes", "written_at"):
        of_pages = memory.page_memory[field][: len(ppn)]
        assert not of_pages[ppn < 0].any()
        sums = np.bincount(ppn[ppn >= 0] // 8, of_pages[ppn >= 0], minlength=2 * 64)
        assert np.array_equal(memory.block_memory[field][: len(sums)], sums)


def test_pages_it_was_not_told_of__are_moved_as_coldest_and_then_written_for_the_first_time() -> None:
    """A device may have been written under another placement before."""
    bench = clustered()
    for kept in (bench.memory.page_memory, bench.memory.block_memory):
        for field in ("writes", "written_at"):
            kept[field] = 0
    bench.write(0)
    bench.collect(1, after_writing=2)
    assert bench.stream(1) == 5
    assert bench.write(1, 1) == [0, 0]
