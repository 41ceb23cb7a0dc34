"""MiDA behind the hot filter: what the counters count, when they begin to, and how `tau` follows."""

from __future__ import annotations

from tests.baselines.placements.bench import Bench

PAGES = 8


def awake() -> Bench:
    """Return a device whose eight pages were written once and overwritten once: two streams of no hot page.

    Every second write closes a block; the last was closed at 15, the one before at 13 and so on.
    """
    bench = Bench("mida_hot", PAGES)
    assert bench.write(*range(PAGES), *range(PAGES)) == [1] * 16
    assert bench.memory.memory[0].ignored == PAGES
    assert not bench.memory.page_memory["counter"].any()
    return bench


def test_overwrites__of_young_pages__make_them_hot_at_the_third() -> None:
    bench = awake()
    assert bench.write(7, 7, 7) == [1, 1, 0]
    # From stream 0 it counts up, too, and 3 is the most.
    assert bench.write(7, 7) == [0, 0]
    assert bench.memory.page_memory[7].counter == 3


def test_overwrite__of_a_page_in_a_block_closed_longer_than_tau_ago__counts_down() -> None:
    bench = awake()  # page 0 is in the block that was closed at 9, page 6 in that of 15
    bench.memory.page_memory["counter"] = 1
    bench.write(7)  # at 16, closed at 15
    assert bench.write(0) == [1]  # at 17, so 8 host pages ago, which is tau
    assert bench.memory.page_memory[0].counter == 2
    assert bench.write(1) == [1]  # at 18, 9 host pages ago
    assert bench.memory.page_memory[1].counter == 0
    bench.memory.page_memory[2].counter = 0
    bench.write(6, 6, 2)  # at 21; closed at 11
    assert bench.memory.page_memory[2].counter == 0


def test_relocations__count_down_by_two_from_stream_0_and_by_one_from_stream_1() -> None:
    bench = awake()
    bench.memory.page_memory["counter"] = 3
    assert bench.write(6, 7, 7) == [0, 0, 0]
    bench.collect(6, after_writing=5)
    assert bench.stream(6) == 1
    assert bench.memory.page_memory[6].counter == 1
    # Pages 4 and 5 were side by side in stream 1.
    bench.collect(4, after_writing=5)
    assert bench.stream(4) == 2
    assert bench.memory.page_memory[4].counter == 2
    bench.memory.page_memory["counter"] = 0
    bench.write(1)
    bench.collect(0, after_writing=5)
    assert bench.stream(0) == 2
    assert bench.memory.page_memory[0].counter == 0


def test_tau__is_the_mean_of_itself_and_the_age_of_hot_victims() -> None:
    bench = awake()
    bench.memory.page_memory["counter"] = 3
    bench.write(6, 7)  # at 16 and 17, the block of stream 0 is closed at 17
    bench.write(7)
    bench.collect(6, after_writing=5)  # at 20: its age is 3
    memory = bench.memory.memory[0]
    assert (memory.ages, memory.victims, memory.overwrites) == (3, 1, 4)
    assert memory.tau == 0  # for the number of logical pages
    bench.write(5, 5, 5)
    assert memory.overwrites == 7
    bench.write(5)  # the eighth overwrite ends the window
    assert memory.tau == (3 + 8) / 2
    assert (memory.ages, memory.victims, memory.overwrites) == (0, 0, 0)


def test_tau__waits_for_a_hot_victim_and_grows_by_half_at_most() -> None:
    bench = awake()
    bench.memory.page_memory["counter"] = 3
    bench.write(6, 7)  # the block of stream 0 is closed at 17
    bench.write(*[7] * 14)  # at 18 to 31
    memory = bench.memory.memory[0]
    assert (memory.tau, memory.overwrites) == (0, 16)
    bench.collect(6, after_writing=7)  # at 33: its age is 16, twice tau
    assert memory.tau == 1.5 * PAGES
    assert memory.overwrites == 0


def test_trim__makes_a_page_one_that_was_never_written() -> None:
    bench = awake()
    assert bench.write(7, 7, 7) == [1, 1, 0]
    bench.trim(7)
    assert bench.write(7, 7, 7, 7) == [1, 1, 1, 0]


def test_blocks_of_another_placement__are_ignored_until_as_many_events_as_pages() -> None:
    """All in stream 0, as `single` has them."""
    bench = Bench("mida_hot", PAGES)
    bench.write(*range(PAGES))
    bench.sim.arrays.block["stream"] = 0
    assert bench.write(1, 2, 3, 4, 5, 6) == [1] * 6
    bench.collect(0, after_writing=7)  # the seventh event, of which the relocation of page 0 is the last
    assert bench.stream(0) == 1
    assert (bench.memory.memory[0].ignored, bench.memory.memory[0].victims) == (PAGES, 0)
    assert not bench.memory.page_memory["counter"].any()
