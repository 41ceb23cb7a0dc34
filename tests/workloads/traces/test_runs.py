"""Runs of one operation: counted by hand, and in random order as long as chance makes them."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.dynamics import Runs
from ssdgym.workloads.traces.statistics import summarize
from tests.workloads.traces.sources import ArraySource, make_records


def runs_of(*pieces: list[int]) -> Runs:
    made = [(0, 0, 0 if op == FLUSH else 512, 0, op) for piece in pieces for op in piece]
    return summarize(ArraySource(make_records(made), chunk=3 if len(made) < 100 else 5000)).runs


def test_runs__go_on_over_other_operations_and_pieces() -> None:
    found = runs_of([READ, READ, FLUSH], [FLUSH], [READ, WRITE, TRIM], [WRITE, READ])
    assert found.mean == 6 / 3
    assert found.independent == 6 / (1 + 2 * 4 * 2 / 6)


def test_runs__of_one_operation_have_nothing_to_compare_with() -> None:
    assert runs_of([WRITE] * 5) == Runs(5.0, None)
    assert runs_of([FLUSH]) == Runs(None, None)
    assert runs_of([WRITE]).persistence is None


@pytest.mark.parametrize("reads", [0.5, 0.1])
def test_runs__of_a_random_order_have_no_persistence(reads: float) -> None:
    draws = np.random.default_rng(2).random(100_000) < reads
    found = runs_of(np.where(draws, READ, WRITE).tolist())
    assert found.mean == pytest.approx(found.independent, rel=0.02)
    assert found.persistence == pytest.approx(0, abs=0.02)


def test_persistence__is_the_share_of_changes_that_are_missing() -> None:
    found = runs_of(([READ] * 10 + [WRITE] * 10) * 500)
    # Independent operations change at every second request, these at every tenth.
    assert found.persistence == pytest.approx(0.8, abs=0.001)
