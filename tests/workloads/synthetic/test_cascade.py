"""Cascades: the index of dispersion that is asked for, exact totals, and bits that a seed gives."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads.synthetic.drawing import Cascade, bias_of, dispersion_of
from ssdgym.workloads.traces.dynamics import FINEST_NS, bursts_of
from tests.workloads.synthetic.configs import small

SECOND = 10**9


def times_of(requests: int, seconds: int, bias: float, seed: int = 1, piece: int = 4096) -> np.ndarray:
    cascade = Cascade(requests, seconds * SECOND, bias, np.random.default_rng(seed))
    return np.concatenate([cascade.next(min(piece, requests - at)) for at in range(0, requests, piece)])


def test_arrivals__are_as_many_as_asked_for_from_0_to_the_end() -> None:
    times = times_of(30_000, 500, 0.75)
    assert len(times) == 30_000 and times[0] == 0 and times[-1] == 500 * SECOND
    assert (np.diff(times) >= 0).all()


def test_arrivals__do_not_depend_on_the_portions_and_copies_go_on_alike() -> None:
    np.testing.assert_array_equal(times_of(30_000, 500, 0.75), times_of(30_000, 500, 0.75, piece=777))
    cascade = Cascade(30_000, 500 * SECOND, 0.75, np.random.default_rng(1))
    cascade.next(10_000)
    twin = copy.deepcopy(cascade)
    np.testing.assert_array_equal(cascade.next(20_000), twin.next(20_000))


def test_dispersion__has_a_closed_form() -> None:
    # 1,024 s halve into 1 s after 10 times.
    counts = np.bincount(times_of(200_000, 1024, 0.7) // SECOND, minlength=1025)[:1024]
    assert counts.var() / counts.mean() == pytest.approx(dispersion_of(0.7, 200_000, 10), rel=0.03)


@pytest.mark.parametrize(("bias", "dispersion"), [(0.5, 1.0), (1.0, 1000 * (1 - 2**-10))])
def test_dispersion__of_the_two_ends(bias: float, dispersion: float) -> None:
    """An even cascade is as independent arrivals, but for their fixed total; the other end is one batch."""
    assert dispersion_of(bias, 1000, 10) == pytest.approx(dispersion, rel=2e-3)


@pytest.mark.parametrize("wanted", [5.0, 100.0, 900.0])
def test_dispersion__is_that_asked_for_also_where_seconds_are_no_halves(wanted: float) -> None:
    bias = bias_of(wanted, 200_000, 1500 * SECOND)
    windows = np.unique(times_of(200_000, 1500, bias) // FINEST_NS, return_counts=True)
    assert bursts_of(*windows).dispersion["1s"] == pytest.approx(wanted, rel=0.15)


def test_dispersion__out_of_reach_has_no_bias() -> None:
    assert bias_of(0.5, 1000, 100 * SECOND) is None
    assert bias_of(5000.0, 1000, 100 * SECOND) is None
    assert bias_of(2.0, 1000, 0.5 * SECOND) is None
    with pytest.raises(SsdgymError, match="cannot have an index of dispersion of 1e\\+08 at 1 s"):
        small(arrivals="cascade", dispersion_1s=1e8).source(0)
