"""FTLs that map blocks or sub-pages under random load: nothing is lost, and every count holds at stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, REQUEST, SYNC, TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import explore, with_examples

KINDS = ("cgm", "fgm", "sector_log", "subftl")
_MAIN_BLOCKS = 9
RULES = {
    "block": ("merge", "mmerge", "mmerge_fixed(depth=1)", "cheapest_plan"),
    "subpage": ("greedy", "cost_benefit", "fifo", "random"),
}


@st.composite
def block_devices(draw: st.DrawFn) -> DeviceConfig:
    """Devices of a few small blocks, whose planes have a block or two more than they need."""
    levels, pages = draw(st.integers(0, 3)), 8
    logical = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(("nftl", "superblock")))
    ftl: dict[str, Any] = {
        "mapping": "block",
        "kind": kind,
        "timing": draw(st.sampled_from(("none", "event"))),
        "striping": draw(st.sampled_from(("blocks", "pages"))),
        "queue_depth": draw(st.sampled_from((0, 1, 8))),
        "window_pages": draw(st.sampled_from((8, 64))),
        "disturb_tolerance": draw(st.sampled_from((0, 1, 2, None))),
        "gc": {
            "free_share": draw(st.sampled_from((0.0, 0.2))),
            "mmerge_limit": draw(st.sampled_from((0, 1, 16))),
            "priority": draw(st.sampled_from(("first", "after_reads"))),
        },
    }
    if kind == "nftl":
        ftl["u_block_search"] = draw(st.sampled_from(("timed", "free")))
        ftl["gc"]["merges"] = draw(st.sampled_from(("at_once", "spread")))
    else:
        ftl |= {"logical_blocks": logical, "physical_blocks": logical + draw(st.integers(1, 2))}
    blocks = draw(st.integers(9, 14))
    span = 1 if kind == "nftl" else logical
    kept = max(1, int(ftl["gc"]["free_share"] * blocks))
    bundles = (blocks - kept - draw(st.integers(1, 3))) // span
    planes, chips = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    return load_device(
        {
            "name": "few",
            "geometry": {
                "channels": 2,
                "chips_per_channel": chips,
                "planes_per_die": planes,
                "blocks_per_plane": blocks,
                "pages_per_block": pages,
                "sub_blocks_per_block": 1 << levels,
                "page_size_bytes": 16384,
                "spare_bytes": draw(st.sampled_from((0, 1280))),
            },
            "capacity": {"logical_pages": 2 * chips * planes * bundles * span * pages},
            "erase_unit": "sub_block_run" if levels else "block",
            "timing": {
                "read_ns": draw(st.sampled_from((0, 70))),
                "program_ns": 900,
                "erase_ns": draw(st.sampled_from((500, 10_000))),
                "transfer_ns_per_byte": draw(st.sampled_from((0.0, 0.01))),
            },
            "ftl": ftl,
        }
    )


@st.composite
def subpage_devices(draw: st.DrawFn) -> DeviceConfig:
    """Devices of a few small blocks, most of them as full as they can be."""
    kind = draw(st.sampled_from(KINDS))
    slots, pages = draw(st.sampled_from((2, 4, 8))), draw(st.integers(2, 6))
    region = draw(st.integers(3, 6)) if kind in ("sector_log", "subftl") else 0
    planes, chips = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    ftl: dict[str, Any] = {
        "mapping": "subpage",
        "kind": kind,
        "timing": draw(st.sampled_from(("none", "event"))),
        "queue_depth": draw(st.sampled_from((0, 1, 8))),
        "window_pages": 4 * (slots + 1) * draw(st.sampled_from((1, 8))),
        "buffer_groups": draw(st.integers(1, 8)),
        "gc": {"free_blocks": 2, "mode": draw(st.sampled_from(("barrier", "per_write")))},
    }
    if region:
        ftl["region_blocks"] = region
    if kind == "subftl":
        ftl |= {
            "rule": draw(st.sampled_from(("fewest_valid", "printed"))),
            "advance": draw(st.sampled_from(("always", "never"))),
            "wear_gap": draw(st.sampled_from((0, 1))),
        }
    most = 2 * chips * planes * (_MAIN_BLOCKS - 3) * pages - slots
    share = 0.35 if kind == "fgm" else draw(st.sampled_from((1.0, 0.5)))
    return load_device(
        {
            "name": "few",
            "geometry": {
                "channels": 2,
                "chips_per_channel": chips,
                "planes_per_die": planes,
                "blocks_per_plane": _MAIN_BLOCKS + region,
                "pages_per_block": pages,
                "page_size_bytes": 16384,
                "subpages_per_page": slots,
            },
            "capacity": {"logical_pages": max(int(share * most), 1) * slots},
            "timing": {
                "read_ns": draw(st.sampled_from((0, 90))),
                "program_ns": 1600,
                "erase_ns": 5000,
                "transfer_ns_per_byte": draw(st.sampled_from((0.0, 0.01))),
                "subpage_program_ns": 1300,
            },
            "ftl": ftl,
        }
    )


DEVICES = {"block": block_devices(), "subpage": subpage_devices()}


def load(device: DeviceConfig, seed: int, count: int, start_ns: int) -> np.ndarray:
    """Requests of all ops on a few hot pages and on all, some of which are synchronous or written in part."""
    rng = np.random.default_rng(seed)
    last, slots = device.logical_pages, device.units_per_page
    requests = np.zeros(count, REQUEST)
    by_block = device.ftl.mapping == "block"
    shares = [0.75, 0.15, 0.07, 0.03] if by_block else [0.7, 0.2, 0.07, 0.03]
    requests["op"] = rng.choice([WRITE, READ, TRIM, FLUSH], count, p=shares)
    hot = rng.integers(0, max(last // 8, 1), count)
    requests["lpn"] = np.where(rng.random(count) < 0.6, hot, rng.integers(0, last, count))
    lengths = [1, 2, 5] if by_block else [1, 2, slots, 2 * slots]
    requests["pages"] = np.minimum(rng.choice(lengths, count), last - requests["lpn"])
    requests["pages"][requests["op"] == FLUSH] = 0
    flagged = 0.3 if by_block else rng.choice([0, 0.5, 1])
    requests["flags"] = np.where(
        rng.random(count) < flagged, PARTIAL_HEAD | PARTIAL_TAIL if by_block else SYNC, 0
    )
    requests["arrival_ns"] = start_ns + np.cumsum(rng.integers(0, 2500, count))
    return requests


def check(sim: Simulator) -> None:
    assert first_fault(sim.arrays, 0) == NO_FAULT
    metrics = sim.metrics()
    assert metrics["lost_pages"] == metrics.get("spoiled_pages", 0) == 0


@pytest.mark.parametrize("family", DEVICES)
@with_examples(60, thorough=3000)
def test_random_load__nothing_is_lost_and_every_count_holds(family: str, examples: int) -> None:
    def holds(data: st.DataObject) -> None:
        device, seed = data.draw(DEVICES[family]), data.draw(st.integers(0, 2**32 - 1))
        sim = Simulator(device, policy=data.draw(st.sampled_from(RULES[family])), seed=seed % 1000)
        for part in range(4):
            sim.run(load(device, seed + part, 300, sim.now_ns))
            check(sim)
            if part % 2 and family == "subpage":
                sim.pass_days(9)
                check(sim)
        if getattr(device.ftl, "kind", "") == "subftl":
            assert sim.metrics()["uncorrectable_reads"] == 0

    explore(examples, holds)
