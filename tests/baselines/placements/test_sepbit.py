"""SepBIT's classes, with exact times and with the queue of its authors."""

from __future__ import annotations

import pytest

from tests.baselines.placements.bench import Bench


def with_a_life_of_four(placement: str) -> Bench:
    """Return a device after seven writes on which the mean life is 4 host pages."""
    bench = Bench(placement, logical_pages=20)
    # First writes go to stream 1; overwrites to stream 0 while no block of it was collected.
    assert bench.write(8, 0, 1) == [1, 1, 1]
    assert bench.write(0, 1) == [0, 0]  # the block is opened at 3
    assert bench.write(0) == [0]
    bench.collect(1, after_writing=9)  # at 7, so that it has lived for 4 host pages
    assert bench.memory.memory[0].mean_life == 4
    # What survives a block of stream 0 goes to stream 2.
    assert bench.stream(1) == 2
    return bench


@pytest.mark.parametrize("placement", ["sepbit(nc=1)", "sepbit_fifo(nc=1)"])
def test_host_pages__by_their_age_against_the_mean_life(placement: str) -> None:
    bench = with_a_life_of_four(placement)
    # Written at 4 and 5; now it is 7.
    assert bench.write(1, 0) == [0, 0]
    assert bench.write(2, 3, 4) == [1, 1, 1]
    # Written at 7, 8 and 9; now it is 12.
    assert bench.write(1, 0, 2) == [1, 1, 1]
    assert bench.write(2) == [0]
    # Of the age 3, which is below 4, and of the age 4.
    assert bench.write(3, 4, 2) == [1, 1, 0]
    assert bench.write(3, 4, 9, 2)[-1] == 1


@pytest.mark.parametrize("placement", ["sepbit(nc=1)", "sepbit_fifo(nc=1)"])
@pytest.mark.parametrize(("age", "stream"), [(15, 3), (16, 4), (63, 4), (64, 5)])
def test_relocated_pages__by_their_age_against_multiples_of_the_mean_life(
    placement: str, age: int, stream: int
) -> None:
    bench = with_a_life_of_four(placement)
    assert bench.write(5, 6) == [1, 1]
    bench.write(6)
    start = bench.clock - 3  # when page 5 was written
    bench.write(*[7] * (age - 4))
    bench.collect(5, after_writing=7)
    assert bench.clock - start == age
    assert bench.stream(5) == stream


@pytest.mark.parametrize(("placement", "stream"), [("sepbit(nc=1)", 0), ("sepbit_fifo(nc=1)", 1)])
def test_queue__has_to_grow_after_the_mean_life_has_grown(placement: str, stream: int) -> None:
    bench = with_a_life_of_four(placement)
    # Page 0 has opened a block of stream 0 at 5, and page 5 is the other one in it.
    assert bench.write(5, 5, 5) == [1, 0, 0]
    assert bench.write(10, 11, 12, 13, 14, 15, 16, 17) == [1] * 8
    bench.collect(0, after_writing=18)  # at 19
    assert bench.memory.memory[0].mean_life == 14
    # Page 10 was written 9 host pages ago. That is below 14, but the queue has 4 entries yet.
    assert bench.write(10) == [stream]


def test_queue__is_no_longer_than_there_are_logical_pages_or_than_the_mean_life() -> None:
    bench = Bench("sepbit_fifo(nc=1)", logical_pages=20)
    bench.write(*[0] * 19)
    assert bench.memory.memory[0].queued == 19
    bench.write(0, 0, 0)
    assert bench.memory.memory[0].queued == 20
    bench.memory.memory[0].mean_life = 18
    # Two leave for each one that comes, until it is no longer than the mean life.
    bench.write(0)
    assert bench.memory.memory[0].queued == 19
    bench.write(0, 0)
    assert bench.memory.memory[0].queued == 18


def test_queue__trim__makes_a_page_one_that_was_never_written() -> None:
    bench = Bench("sepbit_fifo", logical_pages=20)
    # A page is as old as the whole queue is long when it is written again at once.
    assert bench.write(0, 0, 0) == [1, 1, 0]
    bench.trim(0)
    assert bench.write(0, 0) == [1, 0]
