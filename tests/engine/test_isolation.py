"""Isolation of sub-blocks: what an erase does to its neighbours, what protects them, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from tests.engine.devices import device, full_device, mixed_requests


def sub_blocks(isolation: str, ftl: dict[str, Any] | None = None, **fields: Any) -> DeviceConfig:
    """A full device of blocks of four sub-blocks, of whose sets any or runs may be erased."""
    hardware = isolation == "hardware"
    geometry = {"sub_blocks_per_block": 4, "pages_per_block": 16, "layers_per_block": 8 if hardware else None}
    unit = "sub_block_set" if hardware else "sub_block_run"
    return full_device(geometry, ftl, erase_unit=unit, isolation=isolation, **fields)


RULE = {"none": "gsm", "software": "gsm", "hardware": "pb"}


@pytest.mark.parametrize("placement", ["single", "sep_gc", "hot_to_victims", "hotness_groups"])
@pytest.mark.parametrize("isolation", ["none", "software"])
def test_software_isolation__beside_an_erase_no_page_is_valid(isolation: str, placement: str) -> None:
    hotness = {"counters": 64, "thresholds": [2, 4, 9]}
    sim = Simulator(sub_blocks(isolation, {"placement": placement, "hotness": hotness}), policy="gsm")
    sim.fill()
    beside, held = 0, 0
    for request in np.split(mixed_requests(4000, sim.logical_pages), 4000):
        before = sim.state.sub_block[0].copy()
        sim.proceed(iter([request]))
        subs = sim.state.sub_block[0]
        erased = (subs["erases"] > before["erases"]).reshape(-1, 4)
        near = np.zeros_like(erased)
        near[:, 1:] |= erased[:, :-1]
        near[:, :-1] |= erased[:, 1:]
        # A page that the request programmed after the erase may lie beside it.
        later = np.maximum(subs["written"] - before["written"], 0)
        old = np.maximum(subs["written"] - subs["invalid"] - later, 0)
        valid = old.reshape(-1, 4)[near & ~erased]
        beside, held = beside + len(valid), held + int(valid.sum())
    assert beside > 20 and (held > 0) == (isolation == "none")


@pytest.mark.parametrize(("layers", "usable"), [(1, 36), (2, 24), (3, 12)])
def test_hardware_isolation__every_sub_block_gives_up_layers(layers: int, usable: int) -> None:
    """The device of SpeedupGC: 64 layers of 12 pages, 16 sub-blocks of 48."""
    config = device(
        {"sub_blocks_per_block": 16, "pages_per_block": 768, "layers_per_block": 64},
        erase_unit="sub_block_set",
        isolation="hardware",
        isolation_layers=layers,
        logical_pages=1000,
    )
    assert config.usable.pages_per_block == 16 * usable
    sim = Simulator(config, policy="pb")
    blocks = config.geometry.planes * config.geometry.blocks_per_plane
    assert sim.metrics()["isolation_pages"] == blocks * 16 * (48 - usable)
    assert int(sim.state.plane["free_pages"].sum()) == blocks * 16 * usable


def test_hardware_isolation__no_page_left__is_refused() -> None:
    with pytest.raises(SsdgymError, match="isolation_layers"):
        Simulator(
            {
                **sub_blocks("hardware").model_dump(),
                "isolation_layers": 2,
            }
        )
