"""Names of steady states on disk: another one for whatever a state depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.page import PageFtl
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.families import family_of
from ssdgym.simulator.steady_states import _CLEARED, cache_key
from ssdgym.workloads.stream import load_workload
from tests.engine.devices import device


def key_of(config: DeviceConfig) -> str:
    return cache_key(config, load_workload("uniform"), 0, share=1.0)


def test_cache_key__what_best_sets_and_placements_depend_on__is_part_of_it() -> None:
    """A device that scatters pages by hotness and benefit has other steady states with other times."""
    fields = {"erase_unit": "sub_block_run", "isolation": "software"}
    geometry = {"sub_blocks_per_block": 4}
    ftl = {"placement": "hot_to_victims"}
    keys = {
        key_of(changed)
        for changed in (
            device(geometry, ftl, **fields),
            device(geometry, {**ftl, "hotness": {"thresholds": [3, 5]}}, **fields),
            device(geometry, ftl, **{**fields, "isolation": "none"}),
            device(geometry, ftl, **fields).model_copy(
                update={"timing": device().timing.model_copy(update={"erase_ns": 9})}
            ),
        )
    }
    assert len(keys) == 4


class RegionFtl(PageFtl):
    """The page family with a field that nobody has thought of."""

    region_share: float = 0.2


class RegionDevice(DeviceConfig):
    """A device with a field that nobody has thought of."""

    tolerance: int = 3


def test_cache_key__code_that_rules_call__is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that `block_order` adds moves the fields of a rule: a device on disk would be misread."""
    kept, read = device(), Path.read_bytes
    before = key_of(kept)
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == "block_order.py"))
    assert key_of(kept) != before


def test_cache_key__a_field_that_is_new__is_part_of_it() -> None:
    config = device()
    ftls = [RegionFtl(**{**dict(config.ftl), "region_share": share}) for share in (0.2, 0.3)]
    devices = [config.model_copy(update={"ftl": ftl}) for ftl in (config.ftl, *ftls)]
    wider = [RegionDevice(**{**dict(config), "tolerance": tolerance}) for tolerance in (3, 4)]
    assert len({key_of(one) for one in (*devices, *wider)}) == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other", "description": "of no effect"},
        {"energy": {"read_uj": 7.0}},
        {"timing": {"read_ns": 1, "program_ns": 2, "erase_ns": 3, "transfer_ns_per_byte": 4.0}},
        {"ftl": {"timing": "event", "queue_depth": 9, "window_pages": 3}},
    ],
    ids=["names", "energy", "times", "queues"],
)
def test_cache_key__what_cannot_matter_without_time__is_no_part_of_it(changes: dict[str, Any]) -> None:
    changes = dict(changes)
    assert key_of(device(ftl=changes.pop("ftl", None), **changes)) == key_of(device())


@pytest.mark.parametrize("base", ["pen-tiny", "subftl-tiny"])
def test_steady_state__leaves_out_what_belongs_to_a_device(base: str) -> None:
    """What is in no queue when no time passes: the longer arrays of a timed device fit one without time."""
    family, shapes = family_of(load_device(base)), []
    for timing in ("event", "none"):
        state = make_state([load_device({"base": base, "ftl.timing": timing})], [1], Recording(4, 1))
        arrays = {name: array.shape for name, array in state._asdict().items()}
        shapes.append(
            {name: arrays[name] for name in arrays.keys() - {*family.fixed, *family.scratch, *_CLEARED}}
        )
    assert shapes[0] == shapes[1]


def test_cache_key__aligned_rows__are_part_of_it_as_padded_ones_are_not() -> None:
    ftl = {"allocation": "dynamic", "placement": "sep_gc", "multi_plane_writes": True}
    any_rows, aligned, padded = (
        device({"planes_per_die": 2}, {**ftl, **rows}, multi_plane="relaxed")
        for rows in ({}, {"multi_plane_rows": "aligned"}, {"multi_plane_rows": "pad", "pad_limit": 1})
    )
    assert key_of(padded) == key_of(any_rows) != key_of(aligned)
