"""The profile of SSDsim: which fields it sets where, and that a given field wins."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.policy import get_policy

WIDE = {"geometry.planes_per_die": 2, "multi_plane": "relaxed"}
JOINING = {**WIDE, "ftl.multi_plane_writes": True}
#: Fields that the profile can set, as they are without it.
OFF = {
    "write_completes": "program",
    "gc.start": "at_once",
    "gc.grain": "command",
    "multi_plane_rows": "any",
    "pad_limit": 0,
    "multi_plane_reads": False,
}


def made(**fields: Any) -> DeviceConfig:
    return load_device({"base": "demo", "ftl.profile": "ssdsim", **fields})


def values(device: DeviceConfig) -> dict[str, Any]:
    """Return the fields that the profile can set."""
    fields = device.ftl.model_dump()
    gc = fields.pop("gc")
    return {name: gc[name[3:]] if name.startswith("gc.") else fields[name] for name in OFF}


def changed(device: DeviceConfig) -> dict[str, Any]:
    """Return what is not as without a profile."""
    return {name: value for name, value in values(device).items() if value != OFF[name]}


USUAL = {"write_completes": "transfer", "gc.start": "queue_empty"}


def test_profile__not_named__changes_nothing() -> None:
    assert values(load_device("demo")) == OFF


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, USUAL),
        ({"ftl.allocation": "dynamic"}, USUAL),
        ({"ftl.allocation": "late"}, {"write_completes": "transfer"}),
        ({"ftl.gc.background_fraction": 0.2}, {**USUAL, "gc.grain": "round"}),
        ({"ftl.gc.background_fraction": 0.2, "ftl.gc.preemptible": True}, USUAL),
        ({"ftl.gc.idle": "blocking"}, USUAL),
        (WIDE, {**USUAL, "multi_plane_reads": True}),
        (JOINING, {**USUAL, "multi_plane_reads": True, "multi_plane_rows": "pad", "pad_limit": 31}),
        ({**JOINING, "ftl.placement": "hot_cold"}, {**USUAL, "multi_plane_reads": True}),
        ({**JOINING, "geometry.sub_blocks_per_block": 2}, {**USUAL, "multi_plane_reads": True}),
        ({**JOINING, "geometry.pages_per_block": 1}, {**USUAL, "multi_plane_reads": True}),
    ],
    ids=[
        "static",
        "dynamic",
        "late",
        "background",
        "preemptible",
        "idle",
        "planes",
        "joining",
        "two-streams",
        "sub-blocks",
        "one-page",
    ],
)
def test_profile__sets_what_the_device_has_a_use_for(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert changed(made(**fields)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ftl.write_completes": "program"}, {"gc.start": "queue_empty"}),
        ({"ftl.gc.start": "at_once"}, {"write_completes": "transfer"}),
        ({"ftl.gc.background_fraction": 0.2, "ftl.gc.grain": "command"}, USUAL),
        ({**WIDE, "ftl.multi_plane_reads": False}, USUAL),
        ({**JOINING, "ftl.multi_plane_rows": "any"}, {**USUAL, "multi_plane_reads": True}),
        (
            {**JOINING, "ftl.multi_plane_rows": "pad", "ftl.pad_limit": 4},
            {**USUAL, "multi_plane_reads": True, "multi_plane_rows": "pad", "pad_limit": 4},
        ),
        (
            {**JOINING, "ftl.pad_limit": 4},
            {**USUAL, "multi_plane_reads": True, "multi_plane_rows": "pad", "pad_limit": 4},
        ),
    ],
)
def test_profile__a_given_field__wins(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert changed(made(**fields)) == expected


def test_profile__as_a_variant__leaves_what_the_device_file_gives() -> None:
    paper = load_device("ippbe-mlc")
    assert paper.ftl.gc.mode == "barrier"
    variant = with_ftl(paper, {"profile": "ssdsim"})
    assert changed(variant) == USUAL
    assert variant.ftl.gc.free_fraction == paper.ftl.gc.free_fraction
    one_less = with_ftl(paper, {"profile": "ssdsim", "write_completes": "program"})
    assert changed(one_less) == {"gc.start": "queue_empty"}
    assert changed(with_ftl(variant, {"gc.start": "at_once"})) == {"write_completes": "transfer"}


def test_profile__taken_back__leaves_nothing_behind() -> None:
    assert changed(with_ftl(made(**JOINING), {"profile": None})) == {}


def test_profile__what_it_sets__follows_later_changes() -> None:
    joining = made(**JOINING)
    assert changed(get_policy("greedy+hot_cold").adapt(joining)) == {**USUAL, "multi_plane_reads": True}
    assert changed(with_ftl(joining, {"allocation": "late"}))["write_completes"] == "transfer"
    assert "gc.start" not in changed(with_ftl(joining, {"allocation": "late"}))
    larger = load_device(joining.with_changes({"geometry": {"pages_per_block": 128}}))
    assert larger.ftl.pad_limit == 127


def test_profile__in_results__has_the_values_and_is_read_again() -> None:
    device = made(**JOINING)
    recorded = device.model_dump(mode="json")
    assert recorded["ftl"]["profile"] == "ssdsim"
    assert (recorded["ftl"]["multi_plane_rows"], recorded["ftl"]["gc"]["start"]) == ("pad", "queue_empty")
    assert load_device(recorded) == device
