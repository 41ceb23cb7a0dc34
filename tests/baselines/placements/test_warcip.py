"""WARCIP: clusters of pages with like intervals between their writes."""

from __future__ import annotations

from tests.baselines.placements.bench import Bench


def clusters(bench: Bench) -> list[tuple[int, float]]:
    """Streams and centres, in their order."""
    memory = bench.memory.memory[0]
    count = int(memory["clusters"])
    return list(zip(memory["stream"][:count].tolist(), memory["centre"][:count].tolist(), strict=True))


def test_pages__go_to_the_nearest_centre_which_is_the_mean_of_its_block() -> None:
    bench = Bench("warcip", logical_pages=16)
    # Intervals 0, 0, 2, 1 and 3: of equal centres, here all 0, the last one is taken.
    assert bench.write(0, 1, 0, 0, 1) == [5, 5, 5, 5, 5]
    # The mean begins anew in each block of two pages, here with 3.
    assert clusters(bench)[3:] == [(4, 0.0), (5, 3.0)]
    # A first write: 0 is the centre of four clusters. Then page 0 after three pages.
    assert bench.write(5, 0) == [4, 5]
    # 1 is nearer to 0 than to 3, and cluster 4 has the mean of 0 and 1 then.
    assert bench.write(0) == [4]
    assert clusters(bench)[3:] == [(4, 0.5), (5, 3.0)]


def test_relocation__puts_pages_into_stream_0_and_adds_their_age_to_their_interval() -> None:
    bench = Bench("warcip", logical_pages=16)
    bench.write(0, 1, 0)
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 0
    assert bench.memory.page_memory["penalty"][1] == 2
    # Page 1 is written after three pages, and two more count; page 0 was after two.
    assert bench.write(1) == [5]
    assert clusters(bench)[4] == (5, (2 + 5) / 2)


def test_balance__a_cluster_with_little_ends_with_its_block() -> None:
    bench = Bench("warcip(period=3)", logical_pages=16)
    bench.write(0, 1, 0, 0, 1, 5, 0)
    memory = bench.memory.memory
    assert memory["ending"][0] == 1, "after three blocks, the first with less than two pages"
    # As if that were stream 5, whose block is full with pages 1 and 0, after four and three pages.
    memory["ending"] = 5
    assert bench.write(2, 1, 0) == [4, 5, 5]
    assert clusters(bench) == [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0)]


def test_balance__divides_a_cluster_halfway_to_the_one_before() -> None:
    bench = Bench("warcip(period=3)", logical_pages=16)
    bench.write(0)
    bench.memory.memory["ending"] = 5
    bench.write(1, 2, 3)
    assert [stream for stream, _ in clusters(bench)] == [1, 2, 3, 4]
    # Intervals 2 and 1 fill the third block: stream 4 got all four pages.
    assert bench.write(2, 2) == [4, 4]
    assert clusters(bench) == [(1, 0.0), (2, 0.0), (3, 0.0), (5, 0.75), (4, 1.5)]
    assert bench.write(2) == [5]


def test_trim__makes_a_page_one_that_was_never_written() -> None:
    bench = Bench("warcip", logical_pages=16)
    bench.write(0, 1, 2, 3, 4, 0)
    bench.trim(0)
    assert bench.write(0) == [4], "an interval of 0, since stream 5 has a centre of 5"
