"""Skew: known shapes, and a sample that says the same as the whole."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.workloads.traces import distributions as skew
from ssdgym.workloads.traces.distributions import KeyCounts, Skew, expanded


def written(first: list[int], pages: list[int], most_pages: int = 1 << 21) -> Skew:
    counts = KeyCounts(most_pages)
    for numbers, _ in expanded(np.array(first, np.int64), np.array(pages, np.int64)):
        counts.add(numbers)
    return Skew(np.sort(counts.items()[1])[::-1], counts.sampled_share)


def test_even_writes__go_to_every_share_of_pages_alike() -> None:
    found = written([0], [1000])
    assert found.share_of_top(0.01) == pytest.approx(0.01)
    assert found.share_of_top(0.2) == pytest.approx(0.2)
    assert found.written_once == 1.0 and found.sampled_share == 1.0


def test_one_hot_page__takes_its_writes_and_part_of_it_takes_part() -> None:
    found = written([7] * 91 + [10], [1] * 91 + [9])
    assert found.writes.tolist() == [91] + [1] * 9
    assert found.share_of_top(0.1) == pytest.approx(0.91)
    assert found.share_of_top(0.05) == pytest.approx(0.455)
    assert found.as_dict()["written_once_share"] == 0.9


def test_large_writes__are_counted_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skew, "_EXPANDED_AT_ONCE", 8)
    found = written([0, 3, 3, 100, 101], [30, 2, 1, 1, 9])
    assert found.writes.tolist() == [3, 2, *[1] * 38]


def test_a_sample__has_the_shape_of_the_whole() -> None:
    rng = np.random.default_rng(5)
    pages = rng.binomial(200_000, rng.random(400_000) ** 2).tolist()
    whole, sample = written(pages, [1] * len(pages)), written(pages, [1] * len(pages), most_pages=10_000)
    assert sample.share_of_top(0.1) == pytest.approx(whole.share_of_top(0.1), abs=0.02)
    assert whole.sampled_share == 1.0 and 0.02 < sample.sampled_share < 0.5
    assert len(sample.writes) == pytest.approx(len(whole.writes) * sample.sampled_share, rel=0.05)
    assert sample.written_once == pytest.approx(whole.written_once, abs=0.02)


def test_a_sample__counts_its_pages_in_full_however_they_arrive() -> None:
    everything = np.tile(np.arange(50_000), 3)
    counts = KeyCounts(most=1_000)
    for start in range(0, len(everything), 5_000):
        counts.add(everything[start : start + 5_000])
    writes = counts.items()[1]
    assert set(writes.tolist()) == {3}
    assert len(writes) == pytest.approx(50_000 * counts.sampled_share, rel=0.2)
