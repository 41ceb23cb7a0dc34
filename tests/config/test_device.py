"""Devices: what the bundled ones are, what is refused and how it is named, sizes and merged FTL fields."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, FtlConfig, load_device, with_ftl
from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import thresholds_of
from tests.engine.devices import device, writes

PLAIN: dict[str, Any] = {
    "name": "plain",
    "geometry": {"blocks_per_plane": 16, "pages_per_block": 8, "page_size_bytes": 4096},
    "over_provisioning": 0.6,
    "timing": {"read_ns": 50, "program_ns": 600, "erase_ns": 3000, "transfer_ns_per_byte": 0.01},
    "ftl": {"gc": {"free_blocks": 2}},
}


def changed(field: str, value: Any) -> dict[str, Any]:
    """A device with one field set (or, for None, left out)."""
    description = copy.deepcopy(PLAIN)
    part = description
    *path, last = field.split(".")
    for name in path:
        part = part.setdefault(name, {})
    if value is None:
        del part[last]
    else:
        part[last] = value
    return description


def refusal(source: Any) -> str:
    with pytest.raises(SsdgymError) as caught:
        load_device(source)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert text.startswith("device configuration: ")
    return text


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("geometry.channels", 0, "must be greater than 0, not 0"),
        ("geometry.blocks_per_plane", -4, "must be greater than 0, not -4"),
        ("geometry.blocks_per_plane", 2.5, "must be a whole number"),
        ("geometry.pages_per_block", None, "is missing"),
        ("geometry.page_size_bytes", "big", "must be a whole number"),
        ("geometry.sub_blocks_per_block", 65, "must be less than or equal to 64, not 65"),
        ("geometry.colour", 1, "is unknown; remove it or correct its spelling"),
        ("over_provisioning", 0, "must be greater than 0, not 0"),
        ("over_provisioning", -0.1, "must be greater than 0, not -0.1"),
        ("over_provisioning", float("nan"), "must be a finite number"),
        ("erase_unit", "page", "must be 'block' or 'sub_block_run', not 'page'"),
        ("timing.read_ns", -1, "must be greater than or equal to 0, not -1"),
        ("timing.program_ns", 0.5, "must be a whole number"),
        ("timing.transfer_ns_per_byte", float("inf"), "must be a finite number"),
        ("energy.erase_uj", -2.0, "must be greater than or equal to 0, not -2.0"),
        ("ftl.mapping", "block", "must be 'page', not 'block'"),
        ("ftl.placement", "double", "must be 'single' or 'sep_gc', not 'double'"),
        ("ftl.allocation", "some", "must be 'static' or 'dynamic', not 'some'"),
        ("ftl.timing", "fast", "must be 'none' or 'event', not 'fast'"),
        ("ftl.queue_depth", -1, "must be greater than or equal to 0, not -1"),
        ("ftl.window_pages", 0, "must be greater than or equal to 1, not 0"),
        ("ftl.gc.mode", "never", "must be 'barrier' or 'per_write', not 'never'"),
        ("ftl.gc.free_blocks", 0, "must be greater than or equal to 1, not 0"),
        ("ftl.gc.priority", "last", "must be 'first' or 'after_reads', not 'last'"),
        ("ftl.gc.background_fraction", 1.0, "must be less than 1, not 1.0"),
    ],
)
def test_field__out_of_range__named_with_its_bound_and_value(field: str, value: Any, reason: str) -> None:
    assert f"field {field} {reason}" in refusal(changed(field, value))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        (
            "geometry.sub_blocks_per_block",
            3,
            "field geometry sub_blocks_per_block = 3 must divide pages_per_block = 8",
        ),
        (
            "geometry.blocks_per_plane",
            2**30,
            "field geometry of 8589934592 pages is too large: at most 2147483647",
        ),
        ("ftl.gc.free_fraction", 0.1, "field ftl.gc must give exactly one of free_fraction and free_blocks"),
        ("ftl.gc.free_blocks", None, "field ftl.gc must give exactly one of free_fraction and free_blocks"),
        ("ftl.gc.barrier_blocks", 1, "field ftl.gc barrier_blocks = 1 must not be below free_blocks = 2"),
        (
            "ftl.gc.barrier_fraction",
            0.1,
            "field ftl.gc gives barrier_fraction without the threshold free_fraction",
        ),
        ("logical_pages", 100, "the device must give exactly one of over_provisioning and logical_pages"),
        (
            "over_provisioning",
            None,
            "the device must give exactly one of over_provisioning and logical_pages",
        ),
        (
            "over_provisioning",
            1000.0,
            "over_provisioning = 1000.0 leaves no logical page of the 128 physical ones",
        ),
    ],
)
def test_fields__that_contradict_each_other__named(field: str, value: Any, reason: str) -> None:
    assert reason in refusal(changed(field, value))


def test_logical_pages__all_physical_ones_or_more__refused() -> None:
    for pages in (128, 1000):
        description = {**changed("over_provisioning", None), "logical_pages": pages}
        assert f"logical_pages = {pages} must be below the 128 physical pages" in refusal(description)


def test_background_gc__without_time__refused() -> None:
    description = changed("ftl.timing", "none")
    description["ftl"]["gc"]["background_fraction"] = 0.3
    assert "field ftl timing none has no idle time for gc.background_fraction; use timing event" in refusal(
        description
    )


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


def test_ippbe_mlc__is_a_drive_of_4_gib() -> None:
    config = load_device("ippbe-mlc")
    geometry = config.geometry
    assert geometry.physical_pages * geometry.page_size_bytes == 4 * 2**30
    assert (geometry.dies, geometry.planes) == (8, 16)
    assert config.spare_ratio == pytest.approx(1 / 3)
    assert thresholds_of(config).low_free == np.ceil(0.07 * 2048 * 64)


def test_over_provisioning__is_spare_pages_per_logical_page() -> None:
    config = load_device(PLAIN)
    assert config.host_pages == 80
    assert config.spare_ratio == pytest.approx(48 / 80)
    by_pages = load_device({**changed("over_provisioning", None), "logical_pages": 80})
    assert by_pages.host_pages == 80
    assert by_pages.spare_ratio == config.spare_ratio


@given(st.integers(1, 10**7), st.sampled_from(available("devices")))
@settings(max_examples=60, deadline=None)
def test_sized_to__holds_the_pages_and_keeps_the_over_provisioning(pages: int, name: str) -> None:
    """With as few blocks as possible: one row of blocks less, one in every plane, would be under it."""
    config = load_device(name)
    sized = config.sized_to(pages)
    assert sized.host_pages == pages
    row = sized.geometry.planes * sized.geometry.pages_per_block
    assert sized.spare_ratio >= config.spare_ratio * (1 - 1e-9)
    assert (sized.geometry.physical_pages - row - pages) / pages < config.spare_ratio
    changed_fields = {"name", "geometry", "logical_pages", "over_provisioning"}
    assert sized.model_dump(exclude=changed_fields) == config.model_dump(exclude=changed_fields)


def test_sized_to__a_device_that_runs() -> None:
    sim = Simulator(load_device("tiny").sized_to(5000), ftl={"timing": "none"})
    assert sim.logical_pages == 5000
    sim.fill()
    assert sim.run(writes(range(5000)))["host_pages_written"] == 5000


# -- other FTL fields ----------------------------------------------------------------------------------------


@pytest.fixture
def config() -> DeviceConfig:
    gc = {"mode": "per_write", "free_fraction": 0.1, "barrier_fraction": 0.2, "priority": "after_reads"}
    return device(ftl={"timing": "event", "placement": "single", "queue_depth": 7, "gc": gc})


def test_with_ftl__nothing__is_the_device_itself(config: DeviceConfig) -> None:
    assert with_ftl(config, None) is config


def test_with_ftl__a_model__replaces_all(config: DeviceConfig) -> None:
    ftl = FtlConfig()
    assert with_ftl(config, ftl).ftl is ftl


def test_with_ftl__fields__change_only_those(config: DeviceConfig) -> None:
    merged = with_ftl(config, {"timing": "none", "queue_depth": 0})
    assert merged.ftl == config.ftl.model_copy(update={"timing": "none", "queue_depth": 0})
    assert merged.geometry == config.geometry


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"free_blocks": 4}, {"free_blocks": 4, "free_fraction": None, "barrier_fraction": None}),
        ({"free_fraction": 0.3}, {"free_fraction": 0.3, "barrier_fraction": None}),
        ({"barrier_fraction": 0.4}, {"barrier_fraction": 0.4}),
        ({"priority": "first"}, {"priority": "first"}),
    ],
    ids=["threshold in blocks", "another threshold", "barrier", "priority"],
)
def test_with_ftl__gc_fields__a_new_threshold_drops_the_old_one_and_its_barrier(
    changes: dict[str, Any], expected: dict[str, Any], config: DeviceConfig
) -> None:
    merged = with_ftl(config, {"gc": changes}).ftl.gc
    assert merged == config.ftl.gc.model_copy(update=expected)
    assert merged.mode == "per_write"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"speed": 1}, "ftl configuration: field speed is unknown"),
        ({"timing": "soon"}, "ftl configuration: field timing must be 'none' or 'event', not 'soon'"),
        (
            {"gc": {"free_blocks": -1}},
            "ftl configuration: field gc.free_blocks must be greater than or equal to 1",
        ),
        ({"gc": {"barrier_blocks": 3}}, "field gc gives barrier_blocks without the threshold free_blocks"),
        ({"timing": "none", "gc": {"background_fraction": 0.4}}, "timing none has no idle time"),
    ],
)
def test_with_ftl__what_does_not_fit__named(
    changes: dict[str, Any], reason: str, config: DeviceConfig
) -> None:
    with pytest.raises(SsdgymError) as caught:
        with_ftl(config, changes)
    assert reason in str(caught.value)
