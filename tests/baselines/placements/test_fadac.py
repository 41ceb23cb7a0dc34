"""FADaC: how often pages are written, against an average of the lengths of requests."""

from __future__ import annotations

import pytest

from tests.baselines.placements.bench import Bench


def average(bench: Bench) -> float:
    return float(bench.memory.memory["average"][0])


def test_requests_of_one_page__what_is_on_the_average_is_cold() -> None:
    bench = Bench("fadac", logical_pages=16)
    assert bench.write(1, 2, 1, 1, 2) == [0, 0, 1, 1, 1]
    assert average(bench) == 1.0
    assert bench.write(*[1] * 8) == [1, 1, 1, 1, 1, 1, 1, 2]  # its 11th write is above 10


def test_requests_of_one_page__inclusive__what_is_on_the_average_is_hot() -> None:
    bench = Bench("fadac(inclusive=1)", logical_pages=16)
    assert bench.write(1, 2, 1, 1, 2) == [1, 1, 1, 1, 1]
    assert bench.write(*[1] * 8) == [1, 1, 1, 1, 1, 1, 2, 2]  # its 10th write is


@pytest.mark.parametrize(("placement", "stream"), [("fadac", 0), ("fadac(inclusive=1)", 1)])
def test_relocation__takes_back_a_write(placement: str, stream: int) -> None:
    bench = Bench(placement, logical_pages=16)
    bench.write(3, 4, 3, 4, 4)
    bench.collect(3, after_writing=9)
    assert bench.stream(3) == stream, "one write is left"
    assert bench.write(3) == [1]
