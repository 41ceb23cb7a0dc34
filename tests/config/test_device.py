"""Devices: what the bundled ones are, what is refused and how it is named, sizes and merged FTL fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import load_device, with_ftl
from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families.page import thresholds_of
from tests.engine.devices import writes

PLAIN: dict[str, Any] = {
    "name": "plain",
    "geometry": {"blocks_per_plane": 16, "pages_per_block": 8, "page_size_bytes": 4096},
    "capacity": {"over_provisioning": 0.6},
    "timing": {"read_ns": 50, "program_ns": 600, "erase_ns": 3000, "transfer_ns_per_byte": 0.01},
    "ftl": {"gc": {"free_blocks": 2}},
}


# -- sub-blocks: what of a block is erased, and where pages go

#: Two planes of 96 blocks of 16 layers of 4 pages, in 4 sub-blocks.
LAYERED: dict[str, Any] = {
    **PLAIN,
    "geometry": {
        "planes_per_die": 2,
        "blocks_per_plane": 96,
        "pages_per_block": 64,
        "layers_per_block": 16,
        "sub_blocks_per_block": 4,
        "page_size_bytes": 4096,
    },
    "erase_unit": "sub_block_run",
    "isolation": "software",
}
GEOMETRY_OF_64 = {"pages_per_block": 768, "layers_per_block": 64, "sub_blocks_per_block": 32}


def layered(geometry: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {**LAYERED, **fields, "geometry": {**LAYERED["geometry"], **(geometry or {})}}


def placed(placement: str, **hotness: Any) -> dict[str, Any]:
    return {"ftl": {"gc": {"free_blocks": 2}, "placement": placement, "hotness": hotness}}


def test_sub_blocks__at_the_limits__fit() -> None:
    for description in (
        layered(isolation="hardware", isolation_layers=3, capacity={"over_provisioning": 4.0}),
        layered(
            GEOMETRY_OF_64, isolation="hardware", isolation_layers=1, capacity={"over_provisioning": 1.1}
        ),
        layered({"blocks_per_plane": 72}, **placed("hotness_groups")),
        layered({"blocks_per_plane": 8}, **placed("hotness_groups", thresholds=[1, 8, 15])),
        layered({"layers_per_block": None}),
        layered({"sub_blocks_per_block": 1}, erase_unit="block", isolation="none"),
    ):
        load_device(description)


def test_usable__without_the_layers_of_hardware_isolation() -> None:
    for isolation in ("none", "software"):
        config = load_device(layered(isolation=isolation))
        assert config.usable is config.geometry
    full = {"pages_per_block": 768, "layers_per_block": 64, "sub_blocks_per_block": 16}
    config = load_device(layered(full, isolation="hardware", capacity={"over_provisioning": 1.0}))
    assert config.usable.pages_per_block == 576, "36 of 48 pages of each sub-block"
    assert config.usable.layers_per_block == 48
    two = load_device(
        layered(full, isolation="hardware", isolation_layers=2, capacity={"over_provisioning": 1.1})
    )
    assert two.usable.pages_per_block == 384
    same = {"pages_per_block", "layers_per_block"}
    assert config.usable.model_dump(exclude=same) == config.geometry.model_dump(exclude=same)


def test_logical_pages__count_every_physical_page_whatever_the_isolation() -> None:
    pages = {load_device(layered(isolation=kind)).logical_pages for kind in ("none", "software", "hardware")}
    assert pages == {int(2 * 96 * 64 / 1.6)}
    hardware = load_device(layered(isolation="hardware"))
    sized = hardware.sized_to(1000)
    assert sized.logical_pages == 1000
    assert sized.geometry.physical_pages == 13 * 2 * 64, "12 blocks of each plane hold less than 1,600"
    assert sized.usable.physical_pages == 13 * 2 * 48


def test_sized_to__too_few_blocks_for_the_groups__refused() -> None:
    config = load_device(layered(**placed("hotness_groups")))
    with pytest.raises(SsdgymError) as caught:
        config.sized_to(1000)
    assert str(caught.value) == (
        "device plain cannot be made to hold 1000 pages: geometry.blocks_per_plane = 13 is too small for "
        "ftl.placement hotness_groups with the 7 groups of ftl.hotness.thresholds: it needs at least 72."
    )


def test_with_ftl__hotness_fields__change_only_those() -> None:
    config = load_device(layered(**placed("hotness_groups", counters=512, thresholds=[1, 2, 3])))
    merged = with_ftl(config, {"hotness": {"hashes": 3}}).ftl
    assert merged.placement == "hotness_groups"
    assert merged.hotness == config.ftl.hotness.model_copy(update={"hashes": 3})
    assert merged.hotness.period_of(9) == 512
    assert with_ftl(config, {"hotness": {"counters": 9}}).ftl.hotness.period_of(1) == 9


@pytest.mark.parametrize("name", available("devices"))
def test_bundled_device__loads_and_runs(name: str) -> None:
    sim = Simulator(name, recording=Recording(16, 16))
    pages = min(sim.logical_pages, 500)
    metrics = sim.run(writes(range(pages)))
    assert metrics["host_pages_written"] == pages
    assert metrics["lost_pages"] == 0


@pytest.mark.parametrize("name", available("devices"))
def test_bundled_device__values_without_a_source_say_so(name: str) -> None:
    config = load_device(name)
    assert config.name == name
    assert config.description
    assert config.assumed
    assert all(config.assumed.values())


def test_ippbe_mlc__is_a_drive_of_2_gib_with_the_two_dies_of_a_channel_that_are_printed() -> None:
    config = load_device("ippbe-mlc")
    geometry = config.geometry
    assert geometry.physical_pages * geometry.page_size_bytes == 2 * 2**30
    assert (geometry.dies, geometry.planes) == (4, 8)
    assert config.spare_ratio == pytest.approx(1 / 3)
    assert thresholds_of(config)["low_free"] == np.ceil(0.07 * 2048 * 64)


def test_over_provisioning__is_spare_pages_per_logical_page() -> None:
    config = load_device(PLAIN)
    assert config.logical_pages == 80
    assert config.spare_ratio == pytest.approx(48 / 80)
    by_pages = load_device({**PLAIN, "capacity": {"logical_pages": 80}})
    assert by_pages.logical_pages == 80
    assert by_pages.spare_ratio == config.spare_ratio


@given(
    st.integers(1, 10**7),
    st.sampled_from([name for name in available("devices") if load_device(name).ftl.mapping == "page"]),
)
@settings(max_examples=60, deadline=None)
def test_sized_to__holds_the_pages_and_keeps_the_over_provisioning(pages: int, name: str) -> None:
    """With as few blocks as possible: one row of blocks less, one in every plane, would be under it."""
    config = load_device(name)
    sized = config.sized_to(pages)
    assert sized.logical_pages == pages
    row = sized.geometry.planes * sized.geometry.pages_per_block
    assert sized.spare_ratio >= config.spare_ratio * (1 - 1e-9)
    assert (sized.geometry.physical_pages - row - pages) / pages < config.spare_ratio
    changed_fields = {"name", "geometry", "capacity"}
    assert sized.model_dump(exclude=changed_fields) == config.model_dump(exclude=changed_fields)


def test_sized_to__a_device_that_runs() -> None:
    sim = Simulator(load_device("tiny").sized_to(5000), ftl={"timing": "none"})
    assert sim.logical_pages == 5000
    sim.fill()
    assert sim.run(writes(range(5000)))["host_pages_written"] == 5000
