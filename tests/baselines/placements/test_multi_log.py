"""MultiLog: levels that pages leave upwards when rewritten soon, and downwards when moved."""

from __future__ import annotations

import pytest

from tests.baselines.placements.bench import Bench


def two_levels() -> Bench:
    """Return a device of 40 pages, of which 28 have been moved to level 1, in blocks of eight."""
    bench = Bench("multi_log", logical_pages=40, pages_per_block=8)
    assert set(bench.write(*range(40))) == {0}
    for lpn in (0, 8, 16, 24):
        assert bench.write(lpn) == [0]
        bench.collect(lpn + 1, after_writing=39)
    assert [bench.stream(lpn) for lpn in (0, 1, 15, 25, 31, 32)] == [0, 1, 1, 1, 1, 0]
    memory = bench.memory.memory[0]
    assert (memory["last"], memory["pages"][0], memory["invalid"][0]) == (1, 32, 4)
    return bench


@pytest.mark.parametrize(("trimmed", "stream"), [([6], 2), ([6, 7], 1)])
def test_relocation__from_the_last_level__opens_one_if_it_holds_a_block_of_valid_pages(
    trimmed: list[int], stream: int
) -> None:
    bench = Bench("multi_log", logical_pages=16, pages_per_block=4)
    bench.write(0, 1, 2, 3, 0, 1)
    bench.collect(2, after_writing=9)
    bench.write(4, 5, 6, 7, 8, 4, 5, 10, 11, 12)
    bench.collect(6, after_writing=9)
    assert [bench.stream(lpn) for lpn in (2, 3, 6, 7, 8)] == [1, 1, 1, 1, 1]
    bench.trim(*trimmed)
    bench.collect(3, after_writing=9)
    assert bench.stream(3) == stream


def test_write__without_victims_of_the_level__stays() -> None:
    bench = two_levels()
    assert bench.write(*[1] * 10) == [1] * 10


def test_write__moves_up_by_chance_if_the_page_has_lived_shorter_than_its_level_lets_expect() -> None:
    bench = two_levels()
    memory = bench.memory.memory
    memory["pages"][0, 1], memory["invalid"][0, 1] = 8, 0
    # Half of 28 valid pages: 14. All were written longer ago at first, and one page ago then.
    assert bench.write(*range(1, 8)) == [1] * 7
    again = [bench.write(lpn, lpn)[1] for lpn in range(9, 16)]
    assert 5 <= again.count(0) < 8, "the chance is 13 in 14"
    memory["invalid"][0, 1] = 8
    assert bench.write(*[17] * 10) == [1] * 10, "nothing of the level's victims was valid"


def test_trim__makes_a_page_one_that_was_never_written() -> None:
    bench = two_levels()
    bench.trim(1)
    assert bench.write(1) == [0]
