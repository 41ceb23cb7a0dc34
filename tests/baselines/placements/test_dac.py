"""DAC: up a region for every write, down one for every relocation."""

from __future__ import annotations

from tests.baselines.placements.bench import Bench


def test_writes__promote_up_to_the_hottest_region() -> None:
    bench = Bench("dac", logical_pages=16)
    assert bench.write(3, 3, 3, 3, 3, 3, 3, 3) == [0, 1, 2, 3, 4, 5, 5, 5]
    assert bench.write(4, 3, 4) == [0, 5, 1]


def test_relocations__demote_down_to_the_coldest_region() -> None:
    bench = Bench("dac", logical_pages=16)
    assert bench.write(0, 1, 0, 1, 0, 1) == [0, 0, 1, 1, 2, 2]
    assert bench.write(0) == [3]
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 1
    # Beside page 1, page 2 closes the block of stream 1; its trim makes that a victim.
    assert bench.write(2, 2) == [0, 1]
    bench.trim(2)
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 0
    # From there it goes up again.
    assert bench.write(1, 1) == [1, 2]


def test_relocation__in_the_coldest_region__leaves_the_page_there() -> None:
    bench = Bench("dac", logical_pages=16)
    assert bench.write(0, 1, 1) == [0, 0, 1]
    bench.collect(0, after_writing=9)
    assert bench.stream(0) == 0
    assert bench.write(0) == [1]


def test_trim__makes_a_page_one_that_was_never_written() -> None:
    bench = Bench("dac", logical_pages=16)
    assert bench.write(0, 0, 0) == [0, 1, 2]
    bench.trim(0)
    assert bench.write(0, 0) == [0, 1]


def test_pages_it_was_not_told_of__are_moved_as_coldest_and_then_written_for_the_first_time() -> None:
    """A device may have been written under another placement before, whose streams its blocks still have."""
    bench = Bench("dac", logical_pages=16)
    bench.write(0, 1, 0, 1, 0)
    bench.memory.page_memory["region"] = 0
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 0
    assert bench.write(1, 1) == [0, 1]
