"""Bursts: closed forms of the index of dispersion, and counts that do not depend on the pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads.traces.dynamics import FINEST_NS, Bursts, bursts_of

SECOND = 10 * FINEST_NS


def bursts_at(times_ns: np.ndarray) -> Bursts:
    return bursts_of(*np.unique(times_ns // FINEST_NS, return_counts=True))


def poisson(count: int, per_second: float, seed: int = 1) -> np.ndarray:
    gaps = np.random.default_rng(seed).standard_exponential(count) * SECOND / per_second
    times = np.cumsum(gaps).astype(np.int64)
    return times - times[0]


def test_dispersion__of_independent_arrivals_is_1_and_hurst_one_half() -> None:
    found = bursts_at(poisson(200_000, per_second=20))
    # Of m windows, the standard deviation is about sqrt(2 / m): 0.0045, 0.014 and 0.045.
    assert found.dispersion["0.1s"] == pytest.approx(1, abs=0.02)
    assert found.dispersion["1s"] == pytest.approx(1, abs=0.06)
    assert found.dispersion["10s"] == pytest.approx(1, abs=0.18)
    assert found.hurst == pytest.approx(0.5, abs=0.05)


def test_dispersion__of_batches_is_their_size() -> None:
    found = bursts_at(np.repeat(poisson(50_000, per_second=10), 7))
    assert found.dispersion["0.1s"] == pytest.approx(7, rel=0.03)
    assert found.dispersion["1s"] == pytest.approx(7, rel=0.08)


def test_dispersion__of_a_clock_is_0_and_there_is_no_exponent() -> None:
    found = bursts_at(np.arange(2_001) * (FINEST_NS // 2))
    assert found.dispersion == {"0.1s": 0, "1s": 0, "10s": 0}
    assert found.peak_to_mean == {"0.1s": 1, "1s": 1, "10s": 1}
    assert found.hurst is None


def test_counts__by_hand() -> None:
    # Ten seconds, 5 arrivals in the first and 1 in the sixth; the last one is in no whole window.
    found = bursts_at(np.array([0, 1, 2, 3, 4, 5 * SECOND, 10 * SECOND]))
    mean, square = 6 / 10, 26 / 10
    assert found.dispersion["1s"] == pytest.approx((square - mean**2) / mean)
    assert found.peak_to_mean["1s"] == pytest.approx(5 / mean)
    assert found.dispersion["10s"] is None and found.peak_to_mean["10s"] is None


def test_hurst__of_one_burst_that_fills_half_of_the_time_is_1() -> None:
    times = np.sort(np.random.default_rng(3).integers(0, 500 * SECOND, 100_000))
    found = bursts_at(np.append(times, 1000 * SECOND))
    assert found.hurst == pytest.approx(1, abs=0.02)


@given(st.lists(st.integers(0, 40 * FINEST_NS), min_size=1, max_size=40).map(np.cumsum))
def test_counts__agree_with_a_slow_count(gaps: np.ndarray) -> None:
    times = gaps - gaps[0]
    found = bursts_at(times)
    for name, width in (("0.1s", FINEST_NS), ("1s", SECOND), ("10s", 10 * SECOND)):
        whole = int(times[-1] // width)
        counts = np.array([np.count_nonzero(times // width == number) for number in range(whole)])
        if whole < 10:
            assert found.dispersion[name] is None
        else:
            assert found.dispersion[name] == pytest.approx(counts.var() / counts.mean())
            assert found.peak_to_mean[name] == pytest.approx(counts.max() / counts.mean())
