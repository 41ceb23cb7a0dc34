"""The solutions are solutions, and what has none is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads.synthetic.fitting import expected_unique_bytes
from ssdgym.workloads.synthetic.marginals import PowerLaw, bisect
from tests.workloads.synthetic.configs import KIB, MIB, small


def test_bisect__finds_the_root_of_rising_and_falling_functions() -> None:
    assert bisect(lambda x: x**2 - 2, 0, 10) == pytest.approx(2**0.5)
    assert bisect(lambda x: 2 - x**2, 0, 10) == pytest.approx(2**0.5)


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: -x - 1])
def test_bisect__without_a_root_gives_the_nearer_end(function: Callable[[float], float]) -> None:
    assert bisect(function, 0, 10) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("theta", [0.0, 0.7, 1.0, 1.4])
@pytest.mark.parametrize("ranks", [1, 1000, 300_000])
def test_expected_unique_bytes__agree_with_the_sum_over_all_ranks(ranks: int, theta: float) -> None:
    law = PowerLaw(ranks, theta)
    shares = np.diff(law.below(np.arange(ranks + 1.0)))
    requests, mean, extent = 2_000_000, 16 * KIB, 256 * KIB
    untouched = (1 - shares * mean / extent) ** requests
    expected = extent * (1 - untouched).sum()
    assert expected_unique_bytes(law, extent, requests, mean) == pytest.approx(expected, rel=1e-4)


def test_fit__more_unique_bytes_mean_less_skew() -> None:
    thetas = []
    for unique in (40, 60, 80):
        config = small(reads={"requests": 30_000, "bytes": "240MiB", "unique_bytes": f"{unique}MiB"})
        thetas.append(config.fit(config.reads).ranks.theta)
    assert thetas[0] > thetas[1] > thetas[2] > 0


def test_fit__reaches_the_footprint_factor_times_the_unique_bytes() -> None:
    config = small(footprint_factor=2.0)
    assert config.fit(config.reads).ranks.ranks * 256 * KIB == 120 * MIB


def test_fit__what_the_requests_cannot_touch_is_refused() -> None:
    config = small(reads={"requests": 10_000, "bytes": "100MiB", "unique_bytes": "101MiB"})
    with pytest.raises(
        SsdgymError, match=r"synthetic trace small: 10000 requests of 104857600 bytes .* cannot touch"
    ):
        config.fit(config.reads)


def test_fit__what_is_too_little_for_the_steepest_skew_is_refused() -> None:
    config = small(reads={"requests": 30_000, "bytes": "240MiB", "unique_bytes": "8KiB"})
    with pytest.raises(SsdgymError, match="lower extent_bytes"):
        config.fit(config.reads)
