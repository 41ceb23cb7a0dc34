"""Placements on a device that was written under another one, of whose pages they were told nothing."""

from __future__ import annotations

from tests.baselines.placements.bench import Bench


def test_dac__pages_are_moved_as_coldest_and_then_written_for_the_first_time() -> None:
    bench = Bench("dac", logical_pages=16)
    bench.write(0, 1, 0, 1, 0)
    bench.memory.page_memory["region"] = 0
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 0
    assert bench.write(1, 1) == [0, 1]


def test_mida__blocks_are_taken_at_their_streams() -> None:
    bench = Bench("mida", logical_pages=16)
    bench.write(0, 1, 1)
    bench.sim.arrays.block["stream"][0, 0] = 15
    bench.collect(0, after_writing=9)
    assert bench.stream(0) == 4


def test_mida_hot__blocks_are_ignored_until_as_many_events_as_pages() -> None:
    """All in stream 0, as `single` has them."""
    bench = Bench("mida_hot", logical_pages=8)
    bench.write(*range(8))
    bench.sim.arrays.block["stream"] = 0
    assert bench.write(1, 2, 3, 4, 5, 6) == [1] * 6
    bench.collect(0, after_writing=7)  # the seventh event, of which the relocation of page 0 is the last
    assert bench.stream(0) == 1
    assert (bench.memory.memory[0].ignored, bench.memory.memory[0].hot_victims) == (8, 0)


def test_sfs__pages_are_moved_as_coldest_and_then_written_as_hottest() -> None:
    bench = Bench("sfs(period=1)", logical_pages=20)
    assert bench.write(0, 1, 2, 3) == [0, 0, 0, 0]
    assert bench.write(2, 3, 2) == [5, 5, 5]
    bench.collect(3, after_writing=9)
    for kept in (bench.memory.page_memory, bench.memory.block_memory):
        for field in ("writes", "written_at"):
            kept[field] = 0
    bench.write(0)
    bench.collect(1, after_writing=2)
    assert bench.stream(1) == 5
    assert bench.write(1, 1) == [0, 0]
