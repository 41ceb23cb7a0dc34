"""Replay: shares and lengths that come out, a slow walk beside the quick one, state that does not grow."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads.synthetic.fitting import Origins
from ssdgym.workloads.traces.statistics import summarize
from tests.workloads.synthetic.configs import small
from tests.workloads.synthetic.measuring import measure

WRITES = {"requests": 60_000, "bytes": "960MiB", "unique_bytes": "60MiB"}


def origins(share: float, requests: int, seed: int = 1) -> Origins:
    return Origins(share, requests, np.random.SeedSequence(seed))


def slow(made: Origins, number: int) -> int:
    """Go from copy to copy, one request at a time."""
    while True:
        begin = int(made._begin(np.array([number]))[0])
        fresh = int(made._fresh_of(np.array([begin]))[0])
        if begin < made._length or number < begin + fresh:
            return number
        distance = int(made._distance(np.array([begin]))[0])
        number = begin - distance + (number - begin) % distance


@given(st.sampled_from([0.3, 0.8, 0.95]), st.sampled_from([2, 16, 64]), st.integers(0, 5000))
@settings(max_examples=25)
def test_origins__are_those_of_a_slow_walk(share: float, requests: int, first: int) -> None:
    made = origins(share, requests)
    assert made.of(first, 60).tolist() == [slow(made, number) for number in range(first, first + 60)]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.97])
@pytest.mark.parametrize("requests", [16, 64])
def test_share__is_that_of_the_requests_that_repeat(share: float, requests: int) -> None:
    found = origins(share, requests).next(100_000)
    assert (found < np.arange(100_000)).mean() == pytest.approx(share, abs=0.02)
    assert (found <= np.arange(100_000)).all()


def test_stretches__have_their_mean_length() -> None:
    begins = np.unique(origins(0.9, 64)._begin(np.arange(1_000_000)))
    lengths = np.diff(begins)
    assert lengths.mean() == pytest.approx(64, rel=0.05)
    # Geometric lengths spread as much as their mean.
    assert lengths.std() == pytest.approx(64, rel=0.07)


def test_copies__follow_each_other() -> None:
    found = origins(0.9, 64).next(50_000)
    is_copy = found < np.arange(50_000)
    both = is_copy[1:] & is_copy[:-1]
    # A copy of a copy may change its origin once more within the stretch.
    assert (np.diff(found)[both] == 1).mean() > 0.75


def test_origins__do_not_depend_on_the_portions_and_take_no_room_in_copies() -> None:
    whole, pieces = origins(0.9, 64), origins(0.9, 64)
    together = np.concatenate([pieces.next(777) for _ in range(60)])
    np.testing.assert_array_equal(whole.next(60 * 777), together)
    assert len(pickle.dumps(pieces)) < 2000
    twin = copy.deepcopy(pieces)
    np.testing.assert_array_equal(twin.next(5000), pieces.next(5000))


def test_published_columns_come_out_with_replay() -> None:
    config = small(writes=WRITES | {"replay_share": 0.8, "replay_requests": 16}, footprint_factor=2)
    found = measure(config, seed=3)
    assert found["writes"] == 60_000
    assert found["bytes_written"] == pytest.approx(960 << 20, rel=0.02)
    assert found["unique_bytes_written"] == pytest.approx(60 << 20, rel=0.03)


def test_neighbours_live_as_long_as_each_other_with_replay_only() -> None:
    alone = summarize(small(writes=WRITES).source(3)).lives.correlation
    together = summarize(small(writes=WRITES | {"replay_share": 0.8}, footprint_factor=2).source(3)).lives
    assert abs(alone) < 0.1
    assert together.correlation > 0.3


def test_more_copies_than_the_unique_bytes_allow__refused() -> None:
    with pytest.raises(SsdgymError, match="cannot touch .* unique bytes as configured; .* replay_share"):
        small(writes=WRITES | {"replay_share": 0.98}).source(0)


def test_a_length_that_is_no_power_of_two__refused() -> None:
    with pytest.raises(SsdgymError, match="needs replay_requests to be a power of two, not 100"):
        small(writes=WRITES | {"replay_share": 0.5, "replay_requests": 100})
