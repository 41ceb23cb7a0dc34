"""Suites of small and synchronous writes have the shares that they promise and that the paper prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import load_device
from ssdgym.config.subpage import SubpageFtl
from ssdgym.errors import SsdgymError
from ssdgym.workloads import PARTIAL_HEAD, PARTIAL_TAIL, READ, SYNC, WRITE, open_workload
from ssdgym.workloads.generators.small_writes import SmallWritesConfig
from ssdgym.workloads.stream import load_workload
from tests.workloads.taking import take

PARTIAL = PARTIAL_HEAD | PARTIAL_TAIL
LOGICAL_BYTES = 1 << 26
#: Share of small writes in percent (Kim et al., DAC 2017, table 1).
PUBLISHED = {"sysbench": 99.7, "varmail": 95.3, "postmark": 99.9, "ycsb": 19.3, "tpcc": 11.8}


def drawn(workload: Any, requests: int = 50_000, page_size: int = 16384, seed: int = 3) -> np.ndarray:
    stream = open_workload(workload, logical_pages=LOGICAL_BYTES // page_size, page_size=page_size, seed=seed)
    return take(stream, requests)


def small_writes(**fields: Any) -> Any:
    return load_workload({"kind": "small_writes", "r_small": 0.5, "r_synch": 0.5, "theta": 0, **fields})


def in_subpages(workload: Any, requests: int = 50_000) -> np.ndarray:
    """The requests on a device whose pages are subpages, where nothing is hidden."""
    return drawn(workload, requests, page_size=4096)


def test_requests_are_small_and_synchronous_in_their_shares() -> None:
    requests = in_subpages(small_writes(r_small=0.7, r_synch=0.4, read_fraction=0.2))
    is_write, is_small = requests["op"] == WRITE, requests["pages"] == 1
    is_sync = requests["flags"] & SYNC > 0
    assert (requests["op"] == READ).mean() == pytest.approx(0.2, abs=0.01)
    assert is_small[is_write].mean() == pytest.approx(0.7, abs=0.01)
    assert is_small[~is_write].mean() == pytest.approx(0.7, abs=0.02)
    assert is_sync[is_write & is_small].mean() == pytest.approx(0.4, abs=0.01)
    assert not is_sync[~is_write | ~is_small].any()
    assert set(requests["pages"]) == {1, 4}


def test_sizes_come_by_their_weights() -> None:
    weights = {"small_bytes": {4096: 3, 12288: 1}, "large_bytes": {16384: 1, 32768: 4}}
    pages = in_subpages(small_writes(**weights))["pages"]
    shares = np.bincount(pages, minlength=9) / len(pages)
    np.testing.assert_allclose(shares[[1, 3, 4, 8]], [0.375, 0.125, 0.1, 0.4], atol=0.01)


def test_large_requests_start_with_a_full_page_in_their_share_and_else_anywhere() -> None:
    requests = in_subpages(small_writes(r_small=0, aligned_fraction=0.4))
    offsets = requests["lpn"][requests["pages"] == 4] % 4
    np.testing.assert_allclose(np.bincount(offsets) / len(offsets), [0.4, 0.2, 0.2, 0.2], atol=0.01)


def test_on_larger_pages_the_flags_say_what_is_covered_in_part() -> None:
    aligned = drawn(small_writes(r_small=0))
    assert set(aligned["pages"]) == {1}
    assert not aligned["flags"].any()
    misaligned = drawn(small_writes(r_small=0, aligned_fraction=0))
    assert set(misaligned["pages"][misaligned["flags"] == PARTIAL]) == {2}
    small = drawn(small_writes(r_small=1, r_synch=1))
    assert set(small["pages"]) == {1}
    assert (small["flags"] & PARTIAL).all()
    assert (small["flags"] & SYNC).all()


@pytest.mark.parametrize("page_size", [512, 4096, 6144, 16384, 65536])
def test_the_same_bytes_are_asked_for_whatever_the_page_size(page_size: int) -> None:
    workload = small_writes(aligned_fraction=0.5, theta=0.9, read_fraction=0.3, footprint=0.5, start=0.25)
    bytes_asked = in_subpages(workload, 5000)
    requests = drawn(workload, 5000, page_size)
    first = bytes_asked["lpn"].astype(np.int64) * 4096
    end = first + bytes_asked["pages"] * 4096
    np.testing.assert_array_equal(requests["lpn"], first // page_size)
    np.testing.assert_array_equal(requests["lpn"] + requests["pages"], -(-end // page_size))
    is_write = requests["op"] == WRITE
    np.testing.assert_array_equal(requests["flags"] & PARTIAL_HEAD > 0, is_write & (first % page_size > 0))
    np.testing.assert_array_equal(requests["flags"] & PARTIAL_TAIL > 0, is_write & (end % page_size > 0))


def test_requests_stay_in_the_footprint_and_reach_all_of_it() -> None:
    workload = small_writes(footprint=0.25, start=0.5, aligned_fraction=0.5, large_bytes=65536)
    requests = in_subpages(workload)
    pages = LOGICAL_BYTES // 4096
    assert requests["lpn"].min() == pages // 2
    assert (requests["lpn"] + requests["pages"]).max() == pages * 3 // 4
    opened = open_workload(workload, logical_pages=pages, page_size=4096, seed=0)
    assert opened.report == {"footprint_pages": pages // 4}


def test_a_request_over_the_end_goes_on_at_the_start_and_stays_synchronous() -> None:
    fields = {"small_bytes": 12288, "large_bytes": 16384, "r_synch": 1, "r_small": 1}
    requests = drawn(small_writes(**fields, footprint=1 / 4096), 3000, page_size=4096)
    assert (requests["lpn"] + requests["pages"]).max() == 4
    split = np.flatnonzero(requests["pages"] < 3)
    assert len(split) > 500
    before, after = requests[split[:-1:2]], requests[split[1::2]]
    assert (after["lpn"] == 0).all()
    assert (before["pages"][: len(after)] + after["pages"] == 3).all()
    assert (requests["flags"] == SYNC).all()


def test_small_requests_may_be_kept_to_a_part_of_the_footprint() -> None:
    requests = in_subpages(small_writes(small_footprint=0.1, footprint=0.5))
    is_small = requests["pages"] == 1
    assert requests["lpn"][is_small].max() < LOGICAL_BYTES // 4096 * 0.05
    assert requests["lpn"][~is_small].max() > LOGICAL_BYTES // 4096 * 0.45


def test_both_kinds_follow_zipf_s_law_wherever_the_seed_of_the_layout_puts_the_ranks() -> None:
    ranks = 1 / np.arange(1, LOGICAL_BYTES // 4096 + 1)
    places = []
    for seed in (0, 1):
        lpn = in_subpages(small_writes(r_small=1, theta=1, layout_seed=seed))["lpn"]
        counts = np.bincount(lpn)
        assert np.sort(counts)[::-1][:3] / len(lpn) == pytest.approx(ranks[:3] / ranks.sum(), rel=0.08)
        places.append(np.argmax(counts))
    assert places[0] != places[1]
    large = in_subpages(small_writes(r_small=0, theta=1))["lpn"] // 4
    ranks = ranks[: LOGICAL_BYTES // 16384]
    assert np.bincount(large).max() / len(large) == pytest.approx(1 / ranks.sum(), rel=0.08)


def test_synchrony_changes_nothing_else() -> None:
    lazy, synchronous = (drawn(small_writes(r_synch=share)) for share in (0, 1))
    assert (synchronous["flags"] & SYNC).any()
    synchronous["flags"] &= PARTIAL
    np.testing.assert_array_equal(lazy, synchronous)


def test_a_large_request_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SsdgymError, match="large_bytes takes 131072 bytes .* only 65536 of the 67108864"):
        drawn(small_writes(large_bytes=131072, footprint=2**-10))


def test_a_device_smaller_than_a_full_page_is_refused() -> None:
    with pytest.raises(SsdgymError, match="footprint has only 0 of the 12288 logical bytes"):
        open_workload(small_writes(), logical_pages=3, page_size=4096, seed=0)


def test_what_it_writes_and_whether_it_ends_is_known_beforehand() -> None:
    assert small_writes().is_endless
    assert not small_writes(requests=5).is_endless
    assert small_writes(read_fraction=1).writes_nothing()
    assert not small_writes(read_fraction=0.9).writes_nothing()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"r_small": 1.1}, "field r_small must be less than or equal to 1"),
        ({"small_bytes": 16384}, "small_bytes to be below full_page_bytes, not 16384"),
        ({"large_bytes": 8192}, "large_bytes to be at least full_page_bytes, not 8192"),
        ({"small_bytes": 5000}, r"small_bytes to be multiples of subpage_bytes \(4096\), not 5000"),
        ({"large_bytes": {16384: 1, 20000: 1}}, "large_bytes to be multiples .* not 20000"),
        ({"subpage_bytes": 3000}, r"full_page_bytes \(16384\) to be several times subpage_bytes \(3000\)"),
        ({"subpage_bytes": 16384}, "to be several times subpage_bytes"),
        ({"assumed": {"skew": "why"}}, "a note in assumed on skew, which is none of .*, theta, layout_seed"),
        ({"assumed": {"theta": "a"}, "sources": {"theta": "b"}}, "names theta in both sources and assumed"),
        ({"start": 0.7, "footprint": 0.7}, r"start \+ footprint to be at most 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        small_writes(**fields)


# -- the suites of the paper ---------------------------------------------------------------------------------


def suite(name: str) -> SmallWritesConfig:
    workload = load_workload(name)
    assert isinstance(workload, SmallWritesConfig)
    return workload


@pytest.mark.parametrize("name", PUBLISHED)
def test_suites_have_the_published_share_of_small_writes(name: str) -> None:
    requests = in_subpages(suite(name), 200_000)
    writes = requests[requests["op"] == WRITE]
    assert (writes["pages"] < 4).mean() == pytest.approx(PUBLISHED[name] / 100, rel=0.02)


@pytest.mark.parametrize("name", ["sysbench", "varmail", "postmark"])
def test_in_three_suites_more_than_95_percent_of_the_writes_are_small_and_synchronous(name: str) -> None:
    assert suite(name).r_small * suite(name).r_synch > 0.95


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_value_of_a_suite_has_a_source_or_is_called_assumed(name: str) -> None:
    workload = suite(name)
    values = workload.model_fields_set - {"kind", "sources", "assumed"}
    assert values == workload.sources.keys() | workload.assumed.keys()
    assert all(workload.sources.values())
    assert all(workload.assumed.values())
    assert workload.sources["r_small"].startswith("table 1")


def test_varmail_makes_the_published_share_of_read_modify_writes() -> None:
    """89.3 % of the writes (section 5), counted in pages of 16 KiB; the suite was fitted to it."""
    requests = drawn(suite("varmail"), 300_000)
    writes = requests[requests["op"] == WRITE]
    head, tail = (writes["flags"] & bit > 0 for bit in (PARTIAL_HEAD, PARTIAL_TAIL))
    in_part = np.where(writes["pages"] == 1, head | tail, head.astype(int) + tail)
    assert in_part.sum() / writes["pages"].sum() == pytest.approx(0.893, abs=0.002)


@pytest.mark.parametrize("name", PUBLISHED)
def test_small_writes_of_a_suite_cover_a_tenth_of_the_regions_pages_or_a_fifth_if_uniform(name: str) -> None:
    device, workload = load_device("subftl-tlc"), suite(name)
    region_blocks = SubpageFtl.of(device.ftl).region_blocks_of(device.geometry)
    region_pages = device.geometry.planes * region_blocks * device.geometry.pages_per_block
    assert region_pages == 212_992
    subpages = workload.small_footprint * workload.footprint_pages(device.logical_pages, 4096)
    assert subpages / region_pages == pytest.approx(0.1 if workload.theta else 0.2, rel=0.01)


@pytest.mark.parametrize("name", ["sysbench", "varmail", "postmark", "tpcc"])
def test_wide_suites_differ_from_the_others_only_in_what_their_writes_cover(name: str) -> None:
    wide, own = suite(f"{name}_wide"), suite(name)
    assert (wide.footprint, wide.small_footprint) == (0.625, 0.06)
    left_out = {"footprint", "small_footprint", "assumed"}
    assert wide.model_dump(exclude=left_out) == own.model_dump(exclude=left_out)


def test_the_portions_do_not_matter() -> None:
    whole, pieces = (
        open_workload(suite("varmail"), logical_pages=4096, page_size=16384, seed=1) for _ in range(2)
    )
    in_pieces = np.concatenate([pieces.next(portion) for portion in (1, 4095, 17, 6000, 3)])
    in_one = np.concatenate([whole.next(5000) for _ in range(3)])
    np.testing.assert_array_equal(in_pieces, in_one[: len(in_pieces)])


def test_base__gives_what_is_not_given_and_a_note_of_its_own_replaces_either_kind() -> None:
    config = load_workload(
        {"kind": "small_writes", "base": "tpcc", "theta": 0.5, "sources": {"theta": "measured"}}
    )
    base = load_workload("tpcc")
    assert isinstance(base, SmallWritesConfig) and "theta" in base.assumed
    assert config == base.model_copy(
        update={
            "theta": 0.5,
            "sources": base.sources | {"theta": "measured"},
            "assumed": {name: why for name, why in base.assumed.items() if name != "theta"},
        }
    )
    with pytest.raises(SsdgymError, match="names in base 'tpc', which is none of configs/workloads"):
        small_writes(base="tpc")
