"""MiDA: the stream of a page is how often it has been moved."""

from __future__ import annotations

from tests.baselines.placements.bench import Bench


def test_moves__lead_from_stream_to_stream_and_end_in_the_last() -> None:
    bench, other = Bench("mida", logical_pages=40), 39
    pages = list(range(32))
    assert set(bench.write(*pages)) == {0}
    for stream in (1, 2, 3, 4, 4):
        # Every second page goes, and what is left of each block is moved.
        bench.trim(*pages[1::2])
        pages = pages[::2]
        for lpn in pages:
            bench.collect(lpn, after_writing=other)
        assert [bench.stream(lpn) for lpn in pages] == [stream] * len(pages)
    assert bench.write(0) == [0]


def test_blocks_of_another_placement__are_taken_at_their_streams() -> None:
    bench = Bench("mida", logical_pages=16)
    bench.write(0, 1, 1)
    bench.sim.arrays.block["stream"][0, 0] = 15
    bench.collect(0, after_writing=9)
    assert bench.stream(0) == 4
