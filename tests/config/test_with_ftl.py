"""Devices with other FTL fields: merged, replaced and refused."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import DeviceConfig, load_device, load_fields, with_ftl
from ssdgym.config.page import PageFtl
from ssdgym.errors import SsdgymError
from tests.engine.devices import device


@pytest.fixture
def config() -> DeviceConfig:
    gc = {"mode": "per_write", "free_fraction": 0.1, "priority": "after_reads"}
    return device(ftl={"timing": "event", "placement": "single", "queue_depth": 7, "gc": gc})


#: Fits only an FTL that keeps no days for each of four subpages.
EIGHT = {"base": "subftl-tiny", "name": "eight", "geometry": {"subpages_per_page": 8}}


def test_with_ftl__fields_that_fit_only_with_the_changes__are_checked_with_them() -> None:
    with pytest.raises(SsdgymError, match="device eight: ftl.retention_days has 4 entries and needs one"):
        load_device(EIGHT)
    assert with_ftl(load_fields(EIGHT), {"kind": "fgm"}).geometry.subpages_per_page == 8
    with pytest.raises(SsdgymError, match="device eight: ftl.retention_days has 4 entries"):
        with_ftl(load_fields(EIGHT), {"kind": "subftl"})
    with pytest.raises(SsdgymError, match="device eight: ftl.retention_days has 4 entries"):
        with_ftl(load_fields(EIGHT), None)


def test_base__that_fits_only_with_the_changes__is_checked_with_them() -> None:
    device = load_device({"base": EIGHT, "name": "nine", "ftl.kind": "cgm"})
    assert device.units_per_page == 8 and device.ftl.model_dump()["kind"] == "cgm"


def test_with_ftl__nothing__is_the_device_itself(config: DeviceConfig) -> None:
    assert with_ftl(config, None) is config


def test_with_ftl__a_model__replaces_all(config: DeviceConfig) -> None:
    ftl = PageFtl()
    assert with_ftl(config, ftl).ftl is ftl


def test_with_ftl__fields__change_only_those(config: DeviceConfig) -> None:
    merged = with_ftl(config, {"timing": "none", "queue_depth": 0})
    assert merged.ftl == config.ftl.model_copy(update={"timing": "none", "queue_depth": 0})
    assert merged.geometry == config.geometry


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"free_blocks": 4}, {"free_blocks": 4, "free_fraction": None}),
        ({"free_fraction": 0.3}, {"free_fraction": 0.3}),
        ({"priority": "first"}, {"priority": "first"}),
    ],
    ids=["threshold in blocks", "another threshold", "priority"],
)
def test_with_ftl__gc_fields__a_new_threshold_drops_the_old_one(
    changes: dict[str, Any], expected: dict[str, Any], config: DeviceConfig
) -> None:
    merged = with_ftl(config, {"gc": changes}).ftl.gc
    assert merged == config.ftl.gc.model_copy(update=expected)
    assert merged.mode == "per_write"


def test_with_ftl__what_does_not_fit__named(config: DeviceConfig) -> None:
    with pytest.raises(SsdgymError, match="device small: field ftl.gc.free_blocks must be greater than or"):
        with_ftl(config, {"gc": {"free_blocks": -1}})
    with pytest.raises(SsdgymError, match="timing none has no idle time"):
        with_ftl(config, {"timing": "none", "gc": {"background_fraction": 0.4}})


def test_with_ftl__a_placement_the_device_cannot_have__refused(config: DeviceConfig) -> None:
    for changes in ({"placement": "hotness_groups"}, PageFtl(placement="hotness_groups")):
        with pytest.raises(SsdgymError, match="hotness_groups needs an erase_unit of sub-blocks"):
            with_ftl(config, changes)


def test_base__notes_on_what_is_assumed_add_up__but_for_those_of_the_same_field_or_its_parts() -> None:
    whole = load_device("pen-vnand").assumed
    notes = {"geometry": "small", "timing.transfer_ns_per_byte": "other"}
    device = load_device({"base": "pen-vnand", "name": "own", "assumed": notes})
    assert device.assumed == {**{name: why for name, why in whole.items() if name not in notes}, **notes}
    small = load_device({"base": "subftl-tlc", "assumed": {"geometry": "small"}}).assumed
    assert [name for name in small if name.startswith("geometry")] == ["geometry"]
