"""A union of ranges is what a set of integers would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads.traces import distributions as module
from ssdgym.workloads.traces.distributions import RangeSet

batches = st.lists(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=8), max_size=8)


@given(batches, st.integers(0, 12))
def test_the_union_is_that_of_sets(added: list[list[tuple[int, int]]], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", few)
        touched, expected = RangeSet(), set()
        for batch in added:
            start = np.array([start for start, _ in batch], np.int64)
            touched.add(start, start + np.array([length for _, length in batch], np.int64))
            expected |= {n for start, length in batch for n in range(start, start + length)}
    start, end = touched.ranges()
    assert [n for a, b in zip(start, end, strict=True) for n in range(a, b)] == sorted(expected)
    assert (start[1:] > end[:-1]).all(), "ranges that touch each other are one"
    assert touched.size() == len(expected)


def test_repeated_ranges_take_no_more_memory() -> None:
    touched = RangeSet()
    for _ in range(100):
        start = np.arange(0, 20_000, 2)
        touched.add(start, start + 1)
    assert len(touched.ranges()[0]) == 10_000
    assert touched.size() == 10_000
