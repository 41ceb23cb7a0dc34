"""Lives of writes that follow each other: a slow count beside it, and orders whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.workloads.traces import distributions
from ssdgym.workloads.traces.dynamics import Lives, WriteLives


def lives_of(
    first: np.ndarray, pages: np.ndarray | None = None, most: int = 1 << 20, pieces: int = 1
) -> Lives:
    counts = WriteLives(most)
    pages = np.ones(len(first), np.int64) if pages is None else pages
    for starts, sizes in zip(np.array_split(first, pieces), np.array_split(pages, pieces), strict=True):
        counts.add(np.asarray(starts, np.int64), np.asarray(sizes, np.int64))
    return counts.lives()


def slow(first: list[int], pages: list[int]) -> Lives:
    """Look ahead from every write of every pair."""

    def life(number: int) -> int | None:
        later = range(number + 1, len(first))
        over = (n for n in later if first[n] <= first[number] < first[n] + pages[n])
        return next((n - number for n in over), None)

    pairs = [(life(n), life(n + 1)) for n in range(0, len(first) - 1, 2)]
    both = np.log(np.array([pair for pair in pairs if None not in pair], float).reshape(-1, 2))
    if len(both) < 10 or not both.std(axis=0).all():
        return Lives(None, len(both), 1.0)
    return Lives(float(np.corrcoef(both.T)[0, 1]), len(both), 1.0)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4)), min_size=1, max_size=80), st.integers(1, 9))
def test_lives__agree_with_a_slow_count_whatever_the_pieces(
    writes: list[tuple[int, int]], pieces: int
) -> None:
    first, pages = (list(column) for column in zip(*writes, strict=True))
    found, expected = lives_of(np.array(first), np.array(pages), pieces=pieces), slow(first, pages)
    assert found.pairs == expected.pairs
    assert (found.correlation is None) == (expected.correlation is None)
    if expected.correlation is not None:
        assert found.correlation == pytest.approx(expected.correlation, abs=1e-6)


def test_lives__of_independent_writes_do_not_agree() -> None:
    found = lives_of(np.random.default_rng(4).integers(0, 500, 50_000))
    assert found.correlation == pytest.approx(0, abs=0.03)


def test_lives__of_what_is_written_again_in_the_same_order_agree() -> None:
    # Files of 50 pages, of which some are written often: neighbours die together, but at the end of a file.
    rng = np.random.default_rng(4)
    files = np.minimum(rng.zipf(1.5, 2000), 300)
    found = lives_of((files[:, None] * 50 + np.arange(50)).ravel())
    assert found.correlation > 0.9


def test_lives__all_alike_have_no_correlation() -> None:
    assert lives_of(np.tile(np.arange(10), 20)).correlation is None


def test_a_sample__says_the_same_as_the_whole_in_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributions, "_FEW", 1000)
    rng = np.random.default_rng(6)
    files = rng.zipf(1.3, 4000) % 5000
    # Every second page of a file is of another one that is as hot, so that lives agree in part.
    first = np.where(
        rng.random((4000, 25)) < 0.3,
        rng.integers(0, 125_000, (4000, 25)),
        files[:, None] * 25 + np.arange(25),
    )
    whole, sample = lives_of(first.ravel()), lives_of(first.ravel(), most=4000, pieces=50)
    assert whole.sampled_share == 1 and sample.sampled_share < 0.5
    assert sample.pairs < whole.pairs * sample.sampled_share * 1.1
    assert sample.correlation == pytest.approx(whole.correlation, abs=0.05)
