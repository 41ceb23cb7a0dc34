"""Counts, percentiles and histograms, each beside the plain way to get them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads.traces import distributions as counts
from ssdgym.workloads.traces.distributions import RELATIVE_ERROR, Distribution, KeyCounts, log_bins


def distribution(seen: list[int]) -> Distribution:
    counter = sorted(Counter(seen).items())
    return Distribution(*(np.array(column, np.int64) for column in zip(*counter, strict=True)))


@given(st.lists(st.lists(st.integers(-5, 5), max_size=8), max_size=12))
def test_key_counts__are_those_of_all_pieces_together(pieces: list[list[int]]) -> None:
    found = KeyCounts()
    for piece in pieces:
        found.add(np.array(piece, np.int64))
    expected = sorted(Counter(key for piece in pieces for key in piece).items())
    assert list(zip(*(column.tolist() for column in found.items()), strict=True)) == expected


def test_key_counts__merging_now_and_then_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_FEW", 4)
    found = KeyCounts()
    for start in range(100):
        found.add(np.arange(start, start + 10))
    keys, times = found.items()
    assert keys.tolist() == list(range(109))
    assert times.sum() == 1000 and times.max() == 10


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.sampled_from([1, 50, 90, 99, 100]))
def test_percentile__is_the_nearest_rank(seen: list[int], percent: int) -> None:
    expected = np.percentile(seen, percent, method="inverted_cdf")
    assert distribution(seen).percentile(percent) == expected


def test_percentile__of_nothing_is_none() -> None:
    empty = Distribution(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert empty.percentile(50) is None and empty.mean is None and empty.octaves() == []


def test_octaves__begin_with_the_powers_of_two() -> None:
    found = distribution([0, 0, 1, 2, 3, 4, 511, 512]).octaves()
    assert found == [(0, 1, 2), (1, 2, 1), (2, 4, 2), (4, 8, 1), (256, 512, 1), (512, 1024, 1)]


def test_sum__of_two_distributions() -> None:
    found = distribution([1, 1, 5]) + distribution([1, 7])
    assert found.values.tolist() == [1, 5, 7] and found.counts.tolist() == [3, 1, 1]


@given(st.integers(0, 2**63 - 1))
def test_log_bins__are_within_the_error_that_they_state(value: int) -> None:
    assert abs(int(log_bins(np.array([value]))[0]) - value) <= RELATIVE_ERROR * value


def test_log_bins__hold_small_values_exactly() -> None:
    assert log_bins(np.arange(256)).tolist() == list(range(256))
