"""Devices of the sub-page family: what is read, what is refused and how it is named, sizes in subpages."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.config.subpage import SubpageFtl
from ssdgym.enums import SubpageKind
from ssdgym.errors import SsdgymError

GEOMETRY = {"blocks_per_plane": 16, "pages_per_block": 8, "page_size_bytes": 16384, "subpages_per_page": 4}
PLAIN: dict[str, Any] = {
    "name": "parts",
    "geometry": GEOMETRY,
    "capacity": {"over_provisioning": 0.6},
    "timing": {"read_ns": 50, "program_ns": 600, "erase_ns": 3000, "transfer_ns_per_byte": 0.01},
    "ftl": {"mapping": "subpage"},
}


def parts(**fields: Any) -> DeviceConfig:
    return load_device({**PLAIN, **fields})


def of_kind(kind: str, **ftl: Any) -> DeviceConfig:
    return parts(ftl={"mapping": "subpage", "kind": kind, **ftl})


def test_logical_pages__count_subpages_and_fill_whole_pages() -> None:
    device = parts()
    assert device.host_unit_bytes == 4096 and device.physical_units == 16 * 8 * 4
    assert device.logical_pages == 320 == 512 / 1.6 and device.spare_ratio == 0.6
    assert parts(capacity={"over_provisioning": 0.61}).logical_pages == 316
    assert parts(capacity={"logical_pages": 400}).logical_pages == 400


def test_sized_to__keeps_the_over_provisioning_and_fills_whole_pages() -> None:
    sized = parts().sized_to(1001)
    assert sized.logical_pages == 1004
    assert sized.geometry.blocks_per_plane == 51 and sized.physical_units == 1632 >= 1.6 * 1004


@pytest.mark.parametrize("name", ["subftl-tlc", "subftl-tlc-small", "subftl-tiny"])
@pytest.mark.parametrize("kind", SubpageKind)
@pytest.mark.parametrize("pages", [10**6, 10**6 + 1, 10**7])
def test_sized_to__a_bundled_device__has_the_shares_it_had(name: str, kind: str, pages: int) -> None:
    device = with_ftl(load_device(name), {"kind": kind})
    sized = device.sized_to(pages)
    row = sized.geometry.planes * sized.geometry.pages_per_block * 4
    assert sized.logical_pages == pages + -pages % 4 and sized.ftl == device.ftl
    assert sized.spare_ratio >= device.spare_ratio > (sized.physical_units - row - pages) / pages


def test_sized_to__too_few_blocks_for_a_region__named() -> None:
    with pytest.raises(
        SsdgymError, match="device subftl-tiny cannot be made to hold 8 pages: ftl.kind subftl n"
    ):
        load_device("subftl-tiny").sized_to(8)


def test_with_ftl__another_kind__leaves_out_what_it_does_not_have() -> None:
    given = of_kind("subftl", region_share=0.3, advance="never", buffer_groups=7, queue_depth=3)
    assert with_ftl(given, {"kind": "sector_log"}).ftl == SubpageFtl(
        kind=SubpageKind.SECTOR_LOG, region_share=0.3, buffer_groups=7, queue_depth=3
    )
    assert with_ftl(given, {"kind": "cgm"}).ftl == SubpageFtl(
        kind=SubpageKind.CGM, buffer_groups=7, queue_depth=3
    )
    with pytest.raises(SsdgymError, match="has rule, which is of no use to kind fgm"):
        with_ftl(given, {"kind": "fgm", "rule": "fewest_valid"})


def test_device__as_text_and_back__is_the_same() -> None:
    given = of_kind("subftl", region_share=0.3, retention_days=[40, 30, 20, 10], gc={"free_blocks": 3})
    assert load_device(given.model_dump(mode="json")) == given


def test_subpages_of_a_page__do_not_change_a_device_that_maps_pages() -> None:
    device = parts(ftl={})
    assert device.host_unit_bytes == 16384 and device.logical_pages == 80 == device.physical_units / 1.6
