"""Block-mapped FTLs under random load: no data is lost, and every invariant holds when the device stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.requests import FLUSH, PARTIAL_HEAD, PARTIAL_TAIL, READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault

RULES = ("merge", "mmerge", "mmerge_fixed(depth=1)", "cheapest_plan")


@st.composite
def devices(draw: st.DrawFn) -> DeviceConfig:
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


def load(device: DeviceConfig, seed: int, count: int, start_ns: int) -> np.ndarray:
    """Requests of all ops on a few hot pages and on all, some of which are written in part."""
    rng = np.random.default_rng(seed)
    last = device.logical_pages
    requests = np.zeros(count, REQUEST)
    requests["op"] = rng.choice([WRITE, READ, TRIM, FLUSH], count, p=[0.75, 0.15, 0.07, 0.03])
    hot = rng.integers(0, max(last // 8, 1), count)
    requests["lpn"] = np.where(rng.random(count) < 0.6, hot, rng.integers(0, last, count))
    requests["pages"] = np.minimum(rng.choice([1, 2, 5], count), last - requests["lpn"])
    requests["pages"][requests["op"] == FLUSH] = 0
    requests["flags"] = np.where(rng.random(count) < 0.3, PARTIAL_HEAD | PARTIAL_TAIL, 0)
    requests["arrival_ns"] = start_ns + np.cumsum(rng.integers(0, 2500, count))
    return requests


def check(sim: Simulator) -> None:
    assert first_fault(sim.arrays, 0) == NO_FAULT
    metrics = sim.metrics()
    assert metrics["lost_pages"] == metrics["spoiled_pages"] == 0


@given(devices(), st.integers(0, 2**32 - 1), st.sampled_from(RULES))
@settings(max_examples=60, deadline=None)
def test_random_load__nothing_is_lost_and_every_count_holds(
    device: DeviceConfig, seed: int, policy: str
) -> None:
    sim = Simulator(device, policy=policy, seed=seed % 1000)
    for part in range(4):
        sim.run(load(device, seed + part, 300, sim.now_ns))
        check(sim)


@pytest.mark.slow
@given(devices(), st.integers(0, 2**32 - 1), st.sampled_from(RULES))
@settings(max_examples=3000, deadline=None)
def test_random_load__long(device: DeviceConfig, seed: int, policy: str) -> None:
    sim = Simulator(device, policy=policy, seed=seed % 1000)
    for part in range(4):
        sim.run(load(device, seed + part, 300, sim.now_ns))
        check(sim)
