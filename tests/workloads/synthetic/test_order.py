"""Order of reads and writes: exact totals, and runs as long as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.workloads.synthetic.marginals import Order


def order_of(reads: int, writes: int, persistence: float, seed: int = 1) -> np.ndarray:
    order = Order(reads, writes, persistence, np.random.default_rng(seed))
    chunks = []
    while len(chunk := order.next()):
        chunks.append(chunk)
    return np.concatenate(chunks)


@pytest.mark.parametrize("persistence", [0.0, 0.4, 0.9])
@pytest.mark.parametrize(("reads", "writes"), [(50_000, 50_000), (90_000, 10_000), (1, 20_000), (7, 1)])
def test_totals__are_exact(persistence: float, reads: int, writes: int) -> None:
    is_read = order_of(reads, writes, persistence)
    assert len(is_read) == reads + writes and is_read.sum() == reads


@pytest.mark.parametrize("persistence", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("reads", [50_000, 90_000])
def test_changes__of_operation_are_fewer_by_the_persistence(persistence: float, reads: int) -> None:
    is_read = order_of(reads, 100_000 - reads, persistence)
    share = reads / 100_000
    expected = 100_000 * 2 * share * (1 - share) * (1 - persistence)
    # Pieces of 4,096 requests begin anew.
    assert np.count_nonzero(np.diff(is_read)) == pytest.approx(expected, rel=0.05)


def test_runs__have_geometric_lengths() -> None:
    is_read = order_of(50_000, 50_000, 0.8)
    lengths = np.diff(np.flatnonzero(np.diff(is_read)))
    assert lengths.mean() == pytest.approx(10, rel=0.05)
    assert lengths.std() == pytest.approx(10, rel=0.1)
