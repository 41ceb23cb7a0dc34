"""Sizes have the mean asked for, and nothing else is put into them."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.workloads.synthetic.marginals import sizes_with_mean


@pytest.mark.parametrize("mean", [4096, 4100, 7379, 20_000, 61_000, 65_536])
@pytest.mark.parametrize("decay", [0.0, 2.0])
def test_the_mean_is_that_asked_for(mean: float, decay: float) -> None:
    sizes = sizes_with_mean(mean, 4096, 65536, decay)
    assert sizes.sizes.tolist() == [4096, 8192, 16384, 32768, 65536]
    assert sizes.shares.sum() == pytest.approx(1)
    assert sizes.mean() == pytest.approx(mean, rel=1e-6)


def test_without_decay_the_mean_of_the_sizes_leaves_them_all_alike() -> None:
    sizes = sizes_with_mean(np.mean([4096, 8192, 16384]), 4096, 16384, 0.0)
    np.testing.assert_allclose(sizes.shares, 1 / 3)


def test_draws_have_their_shares() -> None:
    sizes = sizes_with_mean(8000, 4096, 65536, 2.0)
    drawn = sizes.at((np.arange(100_000) + 0.5) / 100_000)
    shares = [(drawn == size).mean() for size in sizes.sizes]
    np.testing.assert_allclose(shares, sizes.shares, atol=1e-4)


def test_mean__small_sizes_may_count_as_a_page() -> None:
    sizes = sizes_with_mean(2048, 512, 4096, 0.0)
    assert sizes.mean(at_least=4096) == 4096


@pytest.mark.parametrize(
    ("mean", "single_page_share"), [(7379, 0.694), (11853, 0.680), (9220, 0.684), (9417, 0.692)]
)
def test_as_many_requests_touch_one_page_as_in_msr_volumes(mean: float, single_page_share: float) -> None:
    """src2_0, stg_0, ts_0, mds_0 of the MSR Cambridge traces."""
    assert sizes_with_mean(mean, 4096, 65536, 2.0).shares[0] == pytest.approx(single_page_share, abs=0.08)
