"""The life of a device that maps blocks: how long it is, how it ends, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.engine.core.records import RETIRED
from ssdgym.engine.core.status import END_OF_LIFE, MERGE_DECISION
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import registered_rules
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import mixed_requests, random_writes, writes

MORTAL: dict[str, Any] = {"endurance": {"mean": 30, "spread": 0.2}}
VARIANT = {**MORTAL, "capacity": "variant"}
SUPERBLOCK = {"kind": "superblock", "logical_blocks": 2, "physical_blocks": 3}
KINDS = {"nftl": {}, "superblock": SUPERBLOCK, "spread": {"gc": {"merges": "spread"}}}
OF_KINDS = pytest.mark.parametrize("kind", KINDS)
BOTH = pytest.mark.parametrize("timing", ["none", "event"])
#: Partial erases so quick that M-Merges are cheaper than Merges.
QUICK = {"erase_ns": 1000, "partial_erase_ns": {4: 1000, 2: 1000, 1: 1000}}


def device(cells: dict[str, Any], kind: str = "nftl", timing: str = "none", **fields: Any) -> DeviceConfig:
    """Two planes of 32 blocks of 8 pages, of which 20 are logical."""
    ftl = {**KINDS[kind], **fields.pop("ftl", {}), "timing": timing}
    return load_device(
        {
            "base": "pen-tiny",
            "name": "mortal",
            "geometry": {"blocks_per_plane": 32, **fields.pop("geometry", {})},
            "capacity": {"logical_pages": 2 * 20 * 8},
            "timing": QUICK,
            "ftl": ftl,
            "cells": cells,
            **fields,
        }
    )


def lived(config: DeviceConfig, policy: str = "mmerge", seed: int = 0) -> tuple[Simulator, dict[str, Any]]:
    """A filled device after random writes to its end."""
    sim = Simulator(config, policy=policy, seed=seed, recording=Recording(1, 1))
    sim.fill()
    return sim, sim.run(random_writes(200_000, sim.logical_pages))


def test_equal_endurance__levelled_wear__the_host_writes_all_of_it_by_the_write_amplification() -> None:
    """Update blocks are full when they are merged, and free blocks go round."""
    config = load_device(
        {
            "base": "pen-tiny",
            "geometry": {"blocks_per_plane": 64, "sub_blocks_per_block": 1, "pages_per_block": 16},
            "capacity": {"logical_pages": 2 * 24 * 16},
            "erase_unit": "block",
            "timing.partial_erase_ns": {},
            "ftl": {"timing": "none", "gc": {"free_share": 0.0}},
            "cells": {"endurance": {"mean": 400}},
        }
    )
    sim = Simulator(config, policy="merge", recording=Recording(1, 1))
    sim.fill()
    rounds = np.tile(np.arange(sim.logical_pages), 1000)
    metrics = sim.run(writes(rounds))
    life, endured = metrics["lifetime"], 400 * config.geometry.physical_pages
    assert metrics["end_of_life"] and metrics["lost_pages"] == 0
    assert metrics["pool_jobs"] <= life["retired_blocks"], "free blocks are short only when some are lost"
    assert life["host_pages_written"] == pytest.approx(endured / metrics["write_amplification"], rel=0.01)
    assert life["endurance_used"] == pytest.approx(1, abs=0.01) and life["max_erases"] == 400
    assert first_fault(sim.arrays, 0) == NO_FAULT


@BOTH
@OF_KINDS
@pytest.mark.parametrize("cells", [MORTAL, VARIANT], ids=["fixed", "variant"])
def test_end_of_life__nothing_is_lost_and_nothing_goes_on(
    cells: dict[str, Any], kind: str, timing: str
) -> None:
    sim, metrics = lived(device(cells, kind, timing))
    assert metrics["end_of_life"] and metrics["lost_pages"] == metrics["spoiled_pages"] == 0
    life, pages = metrics["lifetime"], sim.device.geometry.physical_pages
    assert life["retired_blocks"] == (sim.state.block["status"] & RETIRED != 0).sum() > 0
    assert life["pages_programmed"] <= (life["mean_erases"] + 1) * pages, (
        "blocks are erased before they are full"
    )
    assert first_fault(sim.arrays, 0) == NO_FAULT
    before = sim.snapshot()
    again = sim.run(random_writes(100, sim.logical_pages), host_pages=50)
    assert again["host_pages_written"] == metrics["host_pages_written"] and sim.advance() == END_OF_LIFE
    other = Simulator(sim.device, recording=Recording(1, 1))
    other.restore(before)
    assert other.metrics()["end_of_life"]


@OF_KINDS
@pytest.mark.parametrize("striping", ["blocks", "pages"])
def test_variant_capacity__lives_longer_and_gives_up_the_last_bundles(kind: str, striping: str) -> None:
    (_, fixed), (sim, variant) = (
        lived(device(cells, kind, ftl={**KINDS[kind], "striping": striping})) for cells in (MORTAL, VARIANT)
    )
    left = variant["lifetime"]["logical_pages_left"]
    span = 8 * (2 if kind == "superblock" else 1) * (2 if striping == "pages" else 1)
    assert variant["lifetime"]["host_pages_written"] > fixed["lifetime"]["host_pages_written"]
    assert sim.logical_pages / 2 <= left < sim.logical_pages == fixed["lifetime"]["logical_pages_left"]
    assert left % span == 0 and (sim.state.logical["ppn"][0, left:] == -1).all()
    assert (sim.state.logical["ppn"][0, :left] >= 0).mean() > 0.9


@OF_KINDS
@pytest.mark.parametrize("policy", registered_rules("merge"))
def test_every_rule__twenty_device_writes_after_the_first_retired_block(policy: str, kind: str) -> None:
    cells = VARIANT | {"endurance": {"mean": 60, "spread": 0.3}, "least_capacity": 0.05}
    sim = Simulator(device(cells, kind), policy=policy, recording=Recording(1, 1))
    written, pages = 0, sim.logical_pages
    sim.run(np.concatenate([random_writes(pages, pages), mixed_requests(20 * pages, pages)]))
    while written < 20 and not sim.metrics()["end_of_life"]:
        retired = sim.metrics()["lifetime"]["retired_blocks"] > 0
        sim.run(mixed_requests(pages, pages, seed=written))
        written += retired
        assert first_fault(sim.arrays, 0) == NO_FAULT
    assert sim.metrics()["lifetime"]["retired_blocks"] > 0 and sim.metrics()["lost_pages"] == 0


@BOTH
@OF_KINDS
def test_caller_decides__to_the_end_of_life(kind: str, timing: str) -> None:
    sim = Simulator(device(MORTAL, kind, timing), policy=None)
    rng = np.random.default_rng(0)
    sim.feed(random_writes(200_000, sim.logical_pages))
    while (due := sim.advance()) == MERGE_DECISION:
        count = int(sim.state.case[0, 0]["candidates"])
        sim.apply(int(rng.choice(np.flatnonzero(sim.state.figure[0, :count]["allowed"]))))
    assert due == END_OF_LIFE and sim.metrics()["lost_pages"] == 0
    assert first_fault(sim.arrays, 0) == NO_FAULT


def test_erase_in_place__ends_its_block__the_rest_is_merged_elsewhere() -> None:
    """Page 3 alone is written again, so that its part of the block is worn out long before others."""
    cells = {"endurance": {"mean": 5}}
    config = device(cells, ftl={"disturb_tolerance": None, "gc": {"mmerge_limit": 1000}})
    sim = Simulator(config, policy="mmerge_fixed(depth=3)", recording=Recording(1, 1))
    sim.fill()
    data = int(sim.state.logical["ppn"][0, 0]) // 8
    rewrites = writes([3] * 9)
    while not sim.metrics()["lifetime"]["retired_blocks"]:
        sim.run(rewrites)
    assert sim.state.block["status"][0, data] & RETIRED
    found = sim.state.logical["ppn"][0, :8]
    assert len(set(found // 8)) <= 2 and not (found // 8 == data).any()
    erases = sim.state.sub_block["erases"][0].reshape(-1, 8)[data]
    assert erases[3] == 6 and erases.sum() == 5 + 8  # five times alone, and at last with the block
    assert sim.metrics()["lost_pages"] == 0 and first_fault(sim.arrays, 0) == NO_FAULT


def test_disturbance_wears__parts_beside_age_with_those_that_are_erased() -> None:
    lives = []
    for wears in (False, True):
        cells = {"endurance": {"mean": 20}, "disturbance_wears": wears}
        _, metrics = lived(device(cells), policy="mmerge_fixed(depth=3)")
        assert metrics["partial_erases"] > 0 and metrics["lost_pages"] == 0
        lives.append(metrics["lifetime"])
    without, with_disturbance = lives
    assert with_disturbance["host_pages_written"] < without["host_pages_written"]
    assert without["max_erases"] <= 21  # the last one of a part that has reached its limit is with its block


def test_preconditioning__wears_nothing_out() -> None:
    sim = Simulator(device({"endurance": {"mean": 4, "spread": 0.3}}), policy="mmerge")
    sim.precondition("uniform")
    life = sim.metrics()["lifetime"]
    assert life["host_pages_written"] == life["pages_programmed"] == life["max_erases"] == 0
    assert sim.state.sub_block["erases"][0].max() > 4 and not sim.metrics()["end_of_life"]


def test_cells__superblocks_need_a_slot_to_spare() -> None:
    ftl = {"kind": "superblock", "logical_blocks": 5, "physical_blocks": 11}
    with pytest.raises(SsdgymError, match="together below 16"):
        Simulator(device(MORTAL, ftl=ftl))


def test_cells__disturbance_is_refused_elsewhere() -> None:
    with pytest.raises(
        SsdgymError, match=r"cells\.disturbance_wears, which is of no use to ftl\.mapping page"
    ):
        load_device({"base": "demo", "cells": {"endurance": {"mean": 9}, "disturbance_wears": True}})
