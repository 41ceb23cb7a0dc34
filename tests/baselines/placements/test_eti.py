"""ETI: extents of the logical space, and how many requests wrote to each."""

from __future__ import annotations

from ssdgym.requests import WRITE
from tests.baselines.placements.bench import Bench
from tests.engine.devices import requests


def extents(bench: Bench) -> list[tuple[int, int]]:
    """First pages and counts."""
    memory = bench.memory.memory[0]
    count = int(memory["extents"])
    return list(zip(memory["first"][:count].tolist(), memory["count"][:count].tolist(), strict=True))


def write(bench: Bench, lpn: int, pages: int) -> list[int]:
    """Write pages in one request; return their streams."""
    bench.sim.feed(requests((WRITE, lpn, pages)))
    bench.sim.advance()
    return [bench.stream(page) for page in range(lpn, lpn + pages)]


def test_requests__divide_extents_and_are_counted() -> None:
    bench = Bench("eti", logical_pages=32)
    assert write(bench, 4, 4) == [1] * 4
    assert extents(bench) == [(0, 0), (4, 1), (8, 0)]
    assert write(bench, 6, 6) == [1] * 6
    assert extents(bench) == [(0, 0), (4, 1), (6, 2), (8, 1), (12, 0)]
    write(bench, 6, 2)
    assert write(bench, 6, 2) == [0, 0], "with this one, four requests"
    assert write(bench, 5, 2) == [1, 0]
    assert extents(bench) == [(0, 0), (4, 1), (5, 2), (6, 5), (7, 4), (8, 1), (12, 0)]


def test_request__that_begins_in_a_hot_extent_and_ends_in_a_cold_one__has_pages_of_both() -> None:
    bench = Bench("eti", logical_pages=32)
    bench.write(3, 3, 3, 3)
    assert write(bench, 3, 3) == [0, 1, 1]


def test_extents__are_not_divided_where_there_would_be_too_many() -> None:
    bench = Bench("eti(extents=4)", logical_pages=32)
    bench.write(3, 9)
    assert extents(bench) == [(0, 0), (3, 1), (4, 0)]
    write(bench, 0, 2)
    assert extents(bench) == [(0, 1), (2, 0), (3, 1), (4, 0)]
    assert bench.write(9, 9, 9, 9, 9) == [1] * 5


def test_counts__end_at_15() -> None:
    bench = Bench("eti", logical_pages=32)
    bench.write(*[0] * 20)
    assert extents(bench) == [(0, 15), (1, 0)]


def test_counts__are_halved_and_extents_joined_after_every_period() -> None:
    bench = Bench("eti(period=12)", logical_pages=32)
    bench.write(*[8] * 8, 1, 1)
    write(bench, 20, 2)
    assert extents(bench) == [(0, 0), (1, 2), (2, 0), (8, 8), (9, 0), (20, 1), (22, 0)]
    bench.write(2)
    # 8 is halved to 4, and all below that to less than 4.
    assert extents(bench) == [(0, 0), (8, 4), (9, 0)]
    assert bench.write(8, 9) == [0, 1]


def test_relocated_pages__go_to_stream_2() -> None:
    bench = Bench("eti", logical_pages=32)
    bench.write(0, 1, 0)
    bench.collect(1, after_writing=9)
    assert bench.stream(1) == 2
