"""Requests arrive at the pace asked for, and flushes stand where they should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.workload import load_workload
from ssdgym.workloads import FLUSH, REQUEST, WRITE, open_workload


def drawn(**fields: Any) -> np.ndarray:
    workload = load_workload({"kind": "uniform", **fields})
    stream = open_workload(workload, logical_pages=100, page_size=4096, seed=5)
    portions = [np.zeros(0, REQUEST)]
    while len(portion := stream.next(1000)):
        portions.append(portion)
    return np.concatenate(portions)


def test_by_default_everything_arrives_at_once() -> None:
    assert not drawn(requests=5000)["arrival_ns"].any()


def test_constant_arrivals_keep_fractions_of_a_nanosecond() -> None:
    arrivals = drawn(requests=10_000, interarrival_ns=2.5)["arrival_ns"]
    np.testing.assert_array_equal(arrivals, np.arange(10_000) * 5 // 2)


def test_poisson_gaps_have_mean_and_deviation_of_an_exponential() -> None:
    gaps = np.diff(drawn(requests=100_000, interarrival_ns=1e4, arrivals="poisson")["arrival_ns"])
    assert gaps.mean() == pytest.approx(1e4, rel=0.015)
    assert gaps.std() == pytest.approx(1e4, rel=0.02)


def test_a_flush_follows_every_n_th_write() -> None:
    requests = drawn(requests=9000, read_fraction=0.5, flush_every=3, interarrival_ns=10)
    flushes = np.flatnonzero(requests["op"] == FLUSH)
    writes_before = np.cumsum(requests["op"] == WRITE)[flushes]
    np.testing.assert_array_equal(writes_before, 3 * np.arange(1, len(flushes) + 1))
    assert (requests["op"][flushes - 1] == WRITE).all()
    assert (requests["arrival_ns"][flushes] == requests["arrival_ns"][flushes - 1]).all()
    assert not requests["pages"][flushes].any()
    assert len(requests) - len(flushes) == 9000
