"""Draws are splitmix64's, and pure functions of (seed, stream, decision, number)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.bits import GOLDEN, below, draw, mix
from ssdgym.engine.core.kernel import helper
from tests.reference.page import policies as reference

WORDS = st.integers(0, 2**64 - 1)
COUNTERS = st.integers(0, 2**40)


@helper
def _mix(z):
    return mix(z)


@helper
def _draw(seed, stream, decision, k):
    return draw(seed, stream, decision, k)


@helper
def _below(bits, n):
    return below(bits, n)


def test_mix__published_vectors_of_splitmix64() -> None:
    """The first outputs of Vigna's splitmix64.c for the seed 1234567."""
    states = (1234567 + (np.arange(1, 6, dtype=np.uint64)) * GOLDEN).astype(np.uint64)
    assert [int(_mix(state)) for state in states] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@settings(deadline=None)
@given(WORDS, st.integers(0, 10), COUNTERS, COUNTERS)
def test_draw__as_in_the_reference(seed: int, stream: int, decision: int, k: int) -> None:
    assert int(_draw(np.uint64(seed), stream, decision, k)) == reference.draw(seed, stream, decision, k)


@settings(deadline=None)
@given(WORDS, st.integers(1, 2**32 - 1))
def test_below__inside_its_range_and_as_in_the_reference(bits: int, n: int) -> None:
    number = _below(np.uint64(bits), n)
    assert 0 <= number < n
    assert number == reference.below(n, bits)


@settings(max_examples=20, deadline=None)
@given(WORDS, st.sampled_from([2, 7, 100]))
def test_below__of_consecutive_draws__uniform(seed: int, n: int) -> None:
    """Pearson's chi-square of 2,000 draws stays under what a fair die exceeds once in ten million."""
    counts = np.bincount(
        [_below(np.uint64(_draw(np.uint64(seed), 1, 0, k)), n) for k in range(2000)], minlength=n
    )
    expected = 2000 / n
    degrees = n - 1
    assert ((counts - expected) ** 2 / expected).sum() < degrees + 8 * np.sqrt(2 * degrees) + 20
