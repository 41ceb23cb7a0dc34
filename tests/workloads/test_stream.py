"""What holds for every workload: requests in range, the same for the same seed, in whatever portions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import load_device
from ssdgym.config.loading import available
from ssdgym.config.subpage import SubpageFtl
from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, READ, TRIM, WRITE, RequestStream, open_workload
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import check_addresses, load_workload, open_on
from ssdgym.workloads.traces.recorded import PlayedConfig
from tests.workloads.taking import each_clone, take

LOGICAL_PAGES = 1000
KINDS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "hot_cold": {},
    "zipf": {},
    "sequential": {},
    "drifting": {"shift_every_pages": 100, "shift_pages": 7},
    "small_writes": {"r_small": 0.6, "r_synch": 0.5, "aligned_fraction": 0.5},
}
#: The kinds that ask for whole pages of the device.
PAGED = tuple(kind for kind in KINDS if kind != "small_writes")
BUSY = {
    "read_fraction": 0.3,
    "trim_fraction": 0.1,
    "request_pages": {1: 0.5, 3: 0.3, 8: 0.2},
    "interarrival_ns": 1000.0,
    "arrivals": "poisson",
}
BUSY_BY_BYTES = {
    "read_fraction": 0.3,
    "large_bytes": {16384: 1, 65536: 1},
    "interarrival_ns": 1000.0,
    "arrivals": "bursts",
    "burst_requests": 8,
}


def config(kind: str, **changes: Any) -> WorkloadConfig:
    return load_workload({"kind": kind, **KINDS[kind], **changes})


def opened(workload: WorkloadConfig, seed: int = 1, logical_pages: int = LOGICAL_PAGES) -> RequestStream:
    return open_workload(workload, logical_pages=logical_pages, page_size=4096, seed=seed)


workloads = st.builds(
    config,
    st.sampled_from(PAGED),
    read_fraction=st.sampled_from([0.0, 0.4]),
    request_pages=st.dictionaries(st.integers(1, 9), st.floats(0.1, 1), min_size=1, max_size=3),
    footprint=st.floats(0.1, 0.5),
    start=st.floats(0, 0.5),
    requests=st.sampled_from([None, 1, 4096, 5000]),
    arrivals=st.sampled_from(["constant", "poisson"]),
    interarrival_ns=st.floats(0, 1e6),
)


@given(workloads, st.integers(100, 5000), st.integers(0, 2**32))
@settings(max_examples=60)
def test_requests_lie_in_the_footprint_and_arrive_in_order(
    workload: WorkloadConfig, logical_pages: int, seed: int
) -> None:
    requests = take(opened(workload, seed, logical_pages), 9000)
    accesses = requests[requests["op"] != FLUSH]
    first = round(workload.start * logical_pages)  # type: ignore[union-attr]
    end = first + round(workload.footprint * logical_pages)  # type: ignore[union-attr]
    assert accesses["lpn"].min() >= first
    assert (accesses["lpn"] + accesses["pages"]).max() <= end
    assert accesses["pages"].min() >= 1
    assert (np.diff(requests["arrival_ns"]) >= 0).all()
    assert requests["arrival_ns"][0] >= 0


@given(workloads, st.lists(st.integers(1, 6000), min_size=1, max_size=20))
@settings(max_examples=40)
def test_the_portions_do_not_matter(workload: WorkloadConfig, portions: list[int]) -> None:
    stream = opened(workload)
    parts = np.concatenate([stream.next(portion) for portion in portions])
    np.testing.assert_array_equal(parts, take(opened(workload), len(parts), portion=97))


@pytest.mark.parametrize("name", available("workloads"))
def test_same_seed_same_requests_and_another_seed_others(name: str) -> None:
    workload = load_workload(name)
    first, again, other = (take(opened(workload, seed), 5000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first["lpn"] != other["lpn"]).any() == (name != "sequential")


@pytest.mark.parametrize("kind", KINDS)
@each_clone
def test_a_copy_goes_on_like_its_original(kind: str, clone: Any) -> None:
    stream = opened(config(kind, **(BUSY if kind in PAGED else BUSY_BY_BYTES)))
    stream.next(1234)
    twin = clone(stream)
    np.testing.assert_array_equal(take(twin, 9000), take(stream, 9000))


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_of_n_requests_ends_after_n_and_stays_ended(kind: str) -> None:
    stream = opened(config(kind, requests=4100))
    assert len(take(stream, 10_000)) == 4100
    assert len(stream.next(5)) == 0
    assert len(stream.next(5)) == 0


def test_operations_come_in_their_shares() -> None:
    ops = take(opened(config("uniform", read_fraction=0.3, trim_fraction=0.1)), 100_000)["op"]
    shares = np.bincount(ops, minlength=4) / len(ops)
    np.testing.assert_allclose(shares[[READ, WRITE, TRIM, FLUSH]], [0.3, 0.6, 0.1, 0], atol=0.006)


def test_sizes_come_in_their_shares_and_start_at_multiples_of_themselves() -> None:
    requests = take(opened(config("uniform", request_pages={1: 1, 4: 3})), 50_000)
    assert np.mean(requests["pages"] == 4) == pytest.approx(0.75, abs=0.01)
    assert (requests["lpn"] % requests["pages"] == 0).all()


def test_the_read_share_does_not_change_the_pages() -> None:
    writes, mixed = (take(opened(config("zipf", read_fraction=share)), 5000) for share in (0.0, 0.5))
    np.testing.assert_array_equal(writes["lpn"], mixed["lpn"])


def test_asking_for_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        opened(config("uniform")).next(0)


def test_a_request_larger_than_the_footprint_is_refused() -> None:
    with pytest.raises(SsdgymError, match="takes 64 pages at once .* only 10 of the 100 logical pages"):
        opened(config("uniform", request_pages=64, footprint=0.1), logical_pages=100)


def test_the_report_counts_the_footprint() -> None:
    assert opened(config("uniform", footprint=0.25)).report == {"footprint_pages": 250}
    assert opened(load_workload("mixed")).report == {"footprint_pages": 1000}


def test_open_on__takes_the_sizes_of_the_device() -> None:
    model, workload = load_device("subftl-tiny"), load_workload("synthetic:src1_2")
    sizes = {"logical_pages": model.logical_pages, "page_size": model.host_unit_bytes}
    expected = take(open_workload(workload, seed=3, **sizes), 50)
    assert take(open_on(workload, model, 3), 50).tolist() == expected.tolist()


def test_check_addresses__an_ftl_that_maps_whole_blocks_has_no_use_for_compact_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, fold = load_device("subftl-tiny"), load_workload("synthetic:src1_2")
    assert isinstance(fold, PlayedConfig)
    compact = fold.model_copy(update={"addresses": "compact"})
    tenants = load_workload({"kind": "tenants", "tenants": [{"workload": fold}, {"workload": compact}]})
    check_addresses(tenants, model)
    monkeypatch.setattr(SubpageFtl, "keeps_addresses", True)
    check_addresses(fold, model)
    check_addresses(load_workload("zipf99"), model)
    message = "device subftl-tiny: an FTL of mapping subpage maps whole blocks, .* synthetic:src1_2; set"
    for workload in (compact, tenants):
        with pytest.raises(SsdgymError, match=message):
            check_addresses(workload, model)
    with pytest.raises(SsdgymError, match=message):
        open_on(compact, model, seed=1)
