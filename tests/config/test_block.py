"""Devices of the block family: what is read, what is refused and how it is named, sizes in whole blocks."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.enums import BlockKind
from ssdgym.errors import SsdgymError

GEOMETRY = {
    "channels": 2,
    "blocks_per_plane": 16,
    "pages_per_block": 8,
    "sub_blocks_per_block": 4,
    "page_size_bytes": 16384,
}
TIMING = {"read_ns": 50, "program_ns": 600, "erase_ns": 3000, "transfer_ns_per_byte": 0.01}
PLAIN: dict[str, Any] = {
    "name": "blocks",
    "geometry": GEOMETRY,
    "erase_unit": "sub_block_run",
    "capacity": {"over_provisioning": 0.33},
    "timing": TIMING,
    "ftl": {"mapping": "block"},
}
DEVICES = ("pen-vnand", "pen-vnand-small", "pen-tiny")
#: Blocks of a plane and pages of a block, at the same capacity; sub-blocks keep their 9 pages.
SWEEP = [(15104, 72), (7552, 144), (3776, 288), (1888, 576)]


def blocks(**fields: Any) -> DeviceConfig:
    return load_device({**PLAIN, **fields})


def of_kind(kind: str, **ftl: Any) -> DeviceConfig:
    return blocks(ftl={"mapping": "block", "kind": kind, **ftl})


def block_ftl_of(device: DeviceConfig) -> BlockFtl:
    assert isinstance(device.ftl, BlockFtl)
    return device.ftl


def refusal(**fields: Any) -> str:
    with pytest.raises(SsdgymError) as caught:
        blocks(**fields)
    text = str(caught.value)
    assert "\n" not in text and text.startswith("device blocks: ") and text.endswith(".")
    return text


@pytest.mark.parametrize(("share", "kept"), [(0.08, 1), (0.0, 1), (0.12, 1), (0.125, 2), (0.3, 4)])
def test_kept_blocks__share_of_the_blocks_of_a_plane_rounded_down_and_at_least_one(
    share: float, kept: int
) -> None:
    device = of_kind("nftl", gc={"free_share": share})
    assert block_ftl_of(device).kept_blocks(device.geometry) == kept


def test_logical_pages__by_over_provisioning_fill_whole_blocks_of_all_planes() -> None:
    assert blocks().logical_pages == 192 == 2 * 12 * 8
    assert blocks(capacity={"over_provisioning": 0.34}).logical_pages == 2 * 11 * 8
    assert of_kind("superblock").logical_pages == 2 * 3 * 4 * 8
    assert of_kind("superblock", logical_blocks=5, physical_blocks=6).logical_pages == 2 * 2 * 5 * 8


def test_logical_pages__given__have_to_fill_whole_blocks() -> None:
    assert blocks(capacity={"logical_pages": 176}).logical_pages == 176
    reason = refusal(capacity={"logical_pages": 184})
    assert "184 must be a multiple of the 16 that a row of logical blocks, one in each plane, holds" in reason
    reason = refusal(capacity={"logical_pages": 176}, ftl={"mapping": "block", "kind": "superblock"})
    assert "176 must be a multiple of the 64 that a row of superblocks, one in each plane, holds" in reason


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("kind", BlockKind)
def test_bundled_devices__offer_whole_blocks_whatever_the_kind(name: str, kind: str) -> None:
    device = with_ftl(load_device(name), {"kind": kind})
    ftl, geometry = block_ftl_of(device), device.geometry
    rows, rest = divmod(device.logical_pages, ftl.bundle_blocks * geometry.pages_per_block * geometry.planes)
    assert rest == 0
    # Beside the logical blocks of a plane there is room for the pool and a block to merge to.
    assert geometry.blocks_per_plane > ftl.bundle_blocks * rows + ftl.kept_blocks(geometry)


def test_pen_vnand__is_a_drive_of_a_tebibyte_of_which_the_host_has_nine_tenths() -> None:
    device = load_device("pen-vnand")
    geometry = device.geometry
    assert geometry.physical_pages * geometry.page_size_bytes == 118 * 9 * 2**30
    assert device.logical_pages == 64 * 1699 * 576
    assert block_ftl_of(device).kept_blocks(geometry) == 151
    assert with_ftl(device, {"kind": "superblock"}).logical_pages == 64 * 424 * 4 * 576
    small = load_device("pen-vnand-small").geometry
    assert small.physical_pages * 64 == geometry.physical_pages


@pytest.mark.parametrize(("blocks_per_plane", "pages"), SWEEP)
@pytest.mark.parametrize("kind", BlockKind)
def test_pen_vnand__smaller_blocks__need_another_geometry_alone(
    blocks_per_plane: int, pages: int, kind: str
) -> None:
    geometry = {
        "geometry.blocks_per_plane": blocks_per_plane,
        "geometry.pages_per_block": pages,
        "geometry.sub_blocks_per_block": pages // 9,
    }
    device = load_device({"base": "pen-vnand", "ftl.kind": kind, **geometry})
    assert device.geometry.partial_sizes[-1] == 9 and device.geometry.partial_sizes[0] == pages // 2
    assert device.geometry.physical_pages == load_device("pen-vnand").geometry.physical_pages
    assert device.logical_pages == pytest.approx(0.9 * device.geometry.physical_pages, rel=0.003)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("kind", BlockKind)
def test_sized_to__keeps_the_over_provisioning_and_fills_whole_blocks(name: str, kind: str) -> None:
    device = with_ftl(load_device(name), {"kind": kind})
    sized = device.sized_to(1_000_001)
    step, _ = device.ftl.capacity_step(device.geometry)
    assert sized.logical_pages == 1_000_001 + -1_000_001 % step and sized.ftl == device.ftl
    assert sized.spare_ratio >= device.spare_ratio


def test_with_ftl__another_kind__leaves_out_what_it_does_not_have() -> None:
    nftl = of_kind("nftl", u_block_search="free", queue_depth=3, gc={"merges": "spread", "mmerge_limit": 4})
    superblock = with_ftl(nftl, {"kind": "superblock", "physical_blocks": 8})
    assert superblock.ftl == BlockFtl.model_validate(
        {"kind": "superblock", "physical_blocks": 8, "queue_depth": 3, "gc": {"mmerge_limit": 4}}
    )
    changed = with_ftl(nftl, {"kind": "superblock", "gc": {"free_share": 0.1}}).ftl
    assert block_ftl_of(superblock.model_copy(update={"ftl": changed})).gc.mmerge_limit == 4
    assert with_ftl(superblock, {"kind": "nftl"}).ftl == BlockFtl.model_validate(
        {"kind": "nftl", "queue_depth": 3, "gc": {"mmerge_limit": 4}}
    )
    with pytest.raises(SsdgymError, match="has gc.merges spread, which is of no use to kind superblock"):
        with_ftl(nftl, {"kind": "superblock", "gc": {"merges": "spread"}})


def test_device__as_text_and_back__is_the_same() -> None:
    given = blocks(
        timing={**TIMING, "partial_erase_ns": {4: 2900, 2: 2800}},
        ftl={"mapping": "block", "kind": "superblock", "disturb_tolerance": None, "disturb_care": False},
    )
    assert load_device(given.model_dump(mode="json")) == given
