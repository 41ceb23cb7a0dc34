"""The patterns of access have the statistics they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import WRITE, open_workload
from ssdgym.workloads.generators.patterns import zipf_distribution
from ssdgym.workloads.stream import load_workload
from tests.workloads.taking import take

PAGES = 1000


def drawn(data: dict[str, Any], requests: int, logical_pages: int = PAGES) -> np.ndarray:
    workload = load_workload({**data, "requests": requests})
    stream = open_workload(workload, logical_pages=logical_pages, page_size=4096, seed=11)
    return take(stream)


def test_uniform__every_page_is_as_likely() -> None:
    counts = np.bincount(drawn({"kind": "uniform"}, 200_000)["lpn"], minlength=PAGES)
    chi_square = ((counts - 200) ** 2 / 200).sum()
    # Mean 999 and standard deviation sqrt(2 * 999) = 44.7.
    assert abs(chi_square - 999) < 4 * 44.7


def test_hot_cold__hot_pages_get_their_share_evenly() -> None:
    lpn = drawn({"kind": "hot_cold", "hot_fraction": 0.2, "hot_access": 0.8}, 200_000)["lpn"]
    counts = np.bincount(lpn, minlength=PAGES)
    assert counts[:200].sum() / len(lpn) == pytest.approx(0.8, abs=0.004)
    assert counts[:200].min() > 800 - 5 * 800**0.5
    assert counts[200:].max() < 50 + 6 * 50**0.5


def test_hot_cold__a_class_without_pages_is_refused() -> None:
    with pytest.raises(SsdgymError, match=r"hot_fraction 0\.01 of 20 pages is 0 pages"):
        drawn({"kind": "hot_cold", "hot_fraction": 0.01}, 10, logical_pages=20)


@pytest.mark.parametrize("theta", [0.0, 0.8, 0.99, 1.0, 1.5])
def test_zipf__ranks_follow_the_formula(theta: float) -> None:
    lpn = drawn({"kind": "zipf", "theta": theta, "scrambled": False}, 200_000)["lpn"]
    share = np.bincount(lpn, minlength=PAGES) / len(lpn)
    weights = np.arange(1, PAGES + 1) ** -theta
    expected = weights / weights.sum()
    error = np.sqrt(expected / len(lpn))
    assert (np.abs(share - expected)[:20] < 5 * error[:20]).all()
    assert share[500:].sum() == pytest.approx(expected[500:].sum(), abs=0.005)


def test_zipf__scrambling_moves_the_ranks_but_keeps_their_shares() -> None:
    plain, scrambled = (
        np.bincount(drawn({"kind": "zipf", "scrambled": flag}, 100_000)["lpn"], minlength=PAGES)
        for flag in (False, True)
    )
    assert np.argmax(plain) == 0
    assert np.argmax(scrambled) != 0
    assert np.sort(scrambled)[-1] == pytest.approx(plain[0], rel=0.05)


def test_zipf__the_table_is_shared_and_read_only() -> None:
    table = zipf_distribution(100, 0.99)
    assert table is zipf_distribution(100, 0.99)
    assert table[-1] == 1.0
    assert not table.flags.writeable


def test_sequential__covers_every_page_once_a_lap_and_splits_at_the_end() -> None:
    requests = drawn({"kind": "sequential", "request_pages": 8}, 13 + 13, logical_pages=100)
    assert requests["lpn"][:14].tolist() == [*range(0, 100, 8), 0]
    assert requests["pages"][12:14].tolist() == [4, 4]
    touched = np.concatenate([np.arange(r["lpn"], r["lpn"] + r["pages"]) for r in requests])
    np.testing.assert_array_equal(touched, np.arange(len(touched)) % 100)


def test_drifting__the_hot_set_moves_by_the_step_given() -> None:
    data = {"kind": "drifting", "hot_fraction": 0.1, "hot_access": 1.0}
    lpn = drawn({**data, "shift_every_pages": 5000, "shift_pages": 30}, 10_000)["lpn"]
    early, late = np.unique(lpn[:5000]), np.unique(lpn[5000:])
    np.testing.assert_array_equal(early, np.arange(100))
    np.testing.assert_array_equal(late, np.arange(30, 130))


def test_drifting__pages_are_counted_and_not_requests() -> None:
    data = {"kind": "drifting", "hot_fraction": 0.1, "hot_access": 1.0, "request_pages": 10}
    lpn = drawn({**data, "shift_every_pages": 5000, "shift_pages": 500}, 1000)["lpn"]
    assert lpn[:500].max() < 100
    assert lpn[500:].min() >= 500


def test_drifting__the_hot_set_goes_round() -> None:
    data = {"kind": "drifting", "hot_fraction": 0.1, "hot_access": 1.0}
    lpn = drawn({**data, "shift_every_pages": 1000, "shift_pages": 950}, 2000)["lpn"]
    assert set(np.unique(lpn[1000:])) == set(range(950, 1000)) | set(range(50))


def test_mixed__components_come_by_weight_each_in_its_place() -> None:
    components = [
        {"weight": 3, "workload": {"kind": "uniform", "footprint": 0.5}},
        {
            "weight": 1,
            "workload": {"kind": "sequential", "start": 0.5, "footprint": 0.5, "request_pages": 2},
        },
    ]
    requests = drawn({"kind": "mixed", "components": components}, 50_000)
    is_log = requests["lpn"] >= 500
    assert is_log.mean() == pytest.approx(0.25, abs=0.01)
    np.testing.assert_array_equal(requests["lpn"][is_log], 500 + np.arange(is_log.sum()) * 2 % 500)
    assert set(requests["pages"][~is_log]) == {1}
    assert (requests["op"] == WRITE).all()
