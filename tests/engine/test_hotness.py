"""The hotness table: it never forgets an update before it decays, and its memory is what it says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import entry
from ssdgym.engine.entries import call_on
from ssdgym.engine.speedupgc.best_sets import _degree, count_update, hotness_group
from ssdgym.simulator.build import Recording, make_state
from tests.engine.devices import device

NEVER = 2**40


@entry
def _update(dev, lpn):
    count_update(dev, lpn)


@entry
def _degree_of(dev, lpn):
    return _degree(dev.hotness, dev.params[0], lpn)


@entry
def _group_of(dev, lpn):
    return hotness_group(dev, lpn)


def table(**hotness: object) -> State:
    """A device with such a table."""
    config = device(
        {"sub_blocks_per_block": 4},
        {"placement": "hot_to_victims", "hotness": hotness},
        erase_unit="sub_block_run",
        isolation="software",
    )
    return make_state([config], [0], Recording(1, 1))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.sampled_from([1, 5, 16, 64, 1000]), st.lists(st.integers(0, 40), max_size=150))
def test_degree__between_decays__never_below_the_true_count(
    hashes: int, counters: int, lpns: list[int]
) -> None:
    state = table(hashes=hashes, counters=counters, decay_period=NEVER)
    counts: Counter[int] = Counter()
    for lpn in lpns:
        call_on(_update, state, 0, lpn)
        counts[lpn] += 1
        assert call_on(_degree_of, state, 0, lpn) >= min(counts[lpn], 15)
    for lpn, count in counts.items():
        assert min(count, 15) <= call_on(_degree_of, state, 0, lpn) <= 15


def test_degree__a_large_table__is_the_count() -> None:
    state = table(hashes=7, counters=65536, decay_period=NEVER)
    for lpn in range(100):
        for _ in range(lpn % 20):
            call_on(_update, state, 0, lpn)
    assert [call_on(_degree_of, state, 0, lpn) for lpn in range(100)] == [
        min(lpn % 20, 15) for lpn in range(100)
    ]


def test_decay__after_its_period__halves_every_counter() -> None:
    state = table(hashes=3, counters=64, decay_period=10)
    for _ in range(9):
        call_on(_update, state, 0, 5)
    assert call_on(_degree_of, state, 0, 5) == 9
    call_on(_update, state, 0, 5)
    assert call_on(_degree_of, state, 0, 5) == 5
    for _ in range(10):
        call_on(_update, state, 0, 5)
    assert call_on(_degree_of, state, 0, 5) == 7  # 5 and 10 more, saturated at 15


@pytest.mark.parametrize(
    ("updates", "group"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (8, 2), (9, 3), (30, 3)]
)
def test_hotness_group__by_thresholds(updates: int, group: int) -> None:
    state = table(thresholds=[2, 4, 9], decay_period=NEVER)
    for _ in range(updates):
        call_on(_update, state, 0, 77)
    assert call_on(_group_of, state, 0, 77) == group


def test_table__counters_of_4_bits() -> None:
    state = table(hashes=7, counters=65536)
    assert state.hotness.nbytes == 7 * 65536 // 2
    assert np.all(state.hotness == 0)
