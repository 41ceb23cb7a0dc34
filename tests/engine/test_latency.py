"""Latencies: the histogram's error bound, and the slowest kept exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.kernel import helper
from ssdgym.engine.page.state import PageDevice as Device
from ssdgym.engine.time.transactions import BINS, bin_middles, bin_of, record_latency
from ssdgym.requests import READ, WRITE
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.metrics import latency_summary
from tests.engine.devices import device

MIDDLES = bin_middles()


@helper
def _bin_of(latency_ns):
    return bin_of(latency_ns)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**63 - 1))
def test_bin__its_middle_is_within_one_part_in_128(latency_ns: int) -> None:
    number = _bin_of(latency_ns)
    assert 0 <= number < BINS
    assert abs(MIDDLES[number] - latency_ns) <= latency_ns / 128


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 127))
def test_bin__of_a_small_latency__has_it_alone(latency_ns: int) -> None:
    assert MIDDLES[_bin_of(latency_ns)] == latency_ns


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**63 - 2))
def test_bins__follow_each_other_without_a_gap(latency_ns: int) -> None:
    assert _bin_of(latency_ns + 1) - _bin_of(latency_ns) in (0, 1)


@helper
def _record_all(dev, op, latencies):
    for serial in range(latencies.shape[0]):
        record_latency(dev, op, serial, latencies[serial])


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 2**50), max_size=60), st.sampled_from([READ, WRITE]))
def test_tail__holds_the_slowest_exactly(latencies: list[int], op: int) -> None:
    state = make_state([device(ftl={"timing": "event"})], [0], Recording(latencies=1, slowest=7))
    _record_all(Device(*(array[0] for array in state), 0), op, np.array(latencies, np.int64))
    held = state.tail[0, op]
    assert sorted(held[1 : 1 + held[0]]) == sorted(latencies)[-7:]
    assert state.tail[0, 1 - op, 0] == 0
    assert state.histogram[0, op].sum() == len(latencies)


def test_slow_requests__are_slower_than_a_program_and_an_erase() -> None:
    config = device(ftl={"timing": "event"})
    limit_ns = config.timing.program_ns + config.timing.erase_ns
    state = make_state([config], [0], Recording(latencies=1, slowest=1))
    slow = []
    for latency_ns in (limit_ns - 1, limit_ns, limit_ns + 1):
        _record_all(Device(*(array[0] for array in state), 0), READ, np.array([latency_ns], np.int64))
        slow.append(int(state.counters[0, 0]["slow_requests"]))
    assert slow == [0, 0, 1]


@pytest.mark.parametrize("kept", [3000, 100], ids=["every latency kept", "only some kept"])
def test_summary__percentiles_by_nearest_rank(kept: int) -> None:
    """Exact where a latency was kept or is among the slowest; elsewhere within the histogram's error."""
    latencies = np.random.default_rng(1).lognormal(12, 2, 3000).astype(np.int64)
    state = make_state([device(ftl={"timing": "event"})], [0], Recording(latencies=kept, slowest=40))
    _record_all(Device(*(array[0] for array in state), 0), WRITE, latencies)
    state.control["serial"] = 3000
    summary = latency_summary(state, 0, WRITE)
    assert summary["count"] == 3000
    assert summary["exact"] is (kept == 3000)
    assert summary["mean"] == pytest.approx(latencies.mean(), rel=1e-12)
    assert summary["max"] == latencies.max()
    # Nearest ranks among 3,000, by hand: 0.999 * 3,000 is 2,997 and not one more.
    for name, rank in {"p50": 1500, "p95": 2850, "p99": 2970, "p99.9": 2997, "p99.99": 3000}.items():
        exact = np.sort(latencies)[rank - 1]
        among_the_slowest = rank >= 2970
        tolerance = 0 if kept == 3000 or among_the_slowest else 1 / 128
        assert summary[name] == pytest.approx(exact, rel=tolerance, abs=0), name
