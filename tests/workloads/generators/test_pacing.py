"""Requests arrive at the pace asked for, and flushes stand where they should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import open_workload
from ssdgym.workloads.stream import load_workload
from tests.workloads.taking import take


def drawn(**fields: Any) -> np.ndarray:
    workload = load_workload({"kind": "uniform", **fields})
    stream = open_workload(workload, logical_pages=100, page_size=4096, seed=5)
    return take(stream)


def test_by_default_everything_arrives_at_once() -> None:
    assert not drawn(requests=5000)["arrival_ns"].any()


def test_constant_arrivals_keep_fractions_of_a_nanosecond() -> None:
    arrivals = drawn(requests=10_000, interarrival_ns=2.5)["arrival_ns"]
    np.testing.assert_array_equal(arrivals, np.arange(10_000) * 5 // 2)


def test_poisson_gaps_have_mean_and_deviation_of_an_exponential() -> None:
    gaps = np.diff(drawn(requests=100_000, interarrival_ns=1e4, arrivals="poisson")["arrival_ns"])
    assert gaps.mean() == pytest.approx(1e4, rel=0.015)
    assert gaps.std() == pytest.approx(1e4, rel=0.02)


BURSTS = {"arrivals": "bursts", "interarrival_ns": 1e4, "burst_requests": 20, "burst_interarrival_ns": 100}


def test_bursts_come_at_the_mean_pace_asked_for() -> None:
    arrivals = drawn(requests=400_000, **BURSTS)["arrival_ns"]
    # 20,000 bursts, whose gaps deviate by as much as they last: 0.7 % in the mean.
    assert arrivals[-1] / len(arrivals) == pytest.approx(1e4, rel=0.03)


def test_bursts_have_a_geometric_number_of_requests() -> None:
    gaps = np.diff(drawn(requests=400_000, **BURSTS)["arrival_ns"])
    # Of the gaps between bursts, 198,100 ns in the mean, one in 1,900 is itself about as short as 100 ns.
    starts = np.flatnonzero(gaps > 101)
    lengths = np.diff(starts)
    assert lengths.mean() == pytest.approx(20, rel=0.03)
    assert (lengths == 1).mean() == pytest.approx(1 / 20, rel=0.1)
    assert (lengths > 40).mean() == pytest.approx((1 - 1 / 20) ** 40, rel=0.1)


def test_gaps_are_fixed_within_bursts_and_exponential_between_them() -> None:
    gaps = np.diff(drawn(requests=400_000, **BURSTS)["arrival_ns"])
    within, between = gaps[gaps <= 101], gaps[gaps > 101]
    assert np.median(within) == 100
    mean_ns = 20 * 1e4 - 19 * 100
    assert between.mean() == pytest.approx(mean_ns, rel=0.03)
    assert between.std() == pytest.approx(mean_ns, rel=0.04)


def test_by_default_the_requests_of_a_burst_arrive_at_once() -> None:
    arrivals = drawn(requests=50_000, arrivals="bursts", interarrival_ns=1e4, burst_requests=5)["arrival_ns"]
    assert len(np.unique(arrivals)) == pytest.approx(50_000 / 5, rel=0.05)


def test_fractions_of_a_nanosecond_add_up_within_bursts() -> None:
    fields = {"interarrival_ns": 0.3, "burst_requests": 2, "burst_interarrival_ns": 0.25}
    arrivals = drawn(requests=200_000, arrivals="bursts", **fields)["arrival_ns"]
    assert arrivals[-1] / len(arrivals) == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"arrivals": "bursts", "interarrival_ns": 10}, "needs burst_requests"),
        ({**BURSTS, "burst_requests": 1}, "field burst_requests must be greater than 1"),
        (
            {**BURSTS, "burst_interarrival_ns": 1e4},
            r"needs burst_interarrival_ns \(10000\) to be below interarrival_ns \(10000\)",
        ),
        (
            {**BURSTS, "interarrival_ns": 0},
            r"needs burst_interarrival_ns \(100\) to be below interarrival_ns \(0\)",
        ),
        ({**BURSTS, "arrivals": "poisson"}, "sets burst_requests .* which need arrivals to be bursts"),
    ],
)
def test_bursts_that_cannot_be_are_refused_by_field(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        load_workload({"kind": "uniform", **fields})
