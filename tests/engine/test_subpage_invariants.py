"""Sub-page FTLs under random load: no data is lost, and every invariant holds whenever the device stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.requests import FLUSH, READ, REQUEST, SYNC, TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault

KINDS = ("cgm", "fgm", "sector_log", "subftl")
_MAIN_BLOCKS = 9


@st.composite
def devices(draw: st.DrawFn) -> DeviceConfig:
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


def load(device: DeviceConfig, seed: int, count: int, start_ns: int) -> np.ndarray:
    """Requests of all ops on a few hot groups and on all, some of them synchronous."""
    rng = np.random.default_rng(seed)
    last, slots = device.logical_pages, device.units_per_page
    requests = np.zeros(count, REQUEST)
    requests["op"] = rng.choice([WRITE, READ, TRIM, FLUSH], count, p=[0.7, 0.2, 0.07, 0.03])
    hot = rng.integers(0, max(last // 8, 1), count)
    requests["lpn"] = np.where(rng.random(count) < 0.6, hot, rng.integers(0, last, count))
    requests["pages"] = np.minimum(rng.choice([1, 2, slots, 2 * slots], count), last - requests["lpn"])
    requests["pages"][requests["op"] == FLUSH] = 0
    requests["flags"] = np.where(rng.random(count) < rng.choice([0, 0.5, 1]), SYNC, 0)
    requests["arrival_ns"] = start_ns + np.cumsum(rng.integers(0, 2500, count))
    return requests


def check(sim: Simulator) -> None:
    assert first_fault(sim.arrays, 0) == NO_FAULT
    assert sim.metrics()["lost_pages"] == 0


@given(devices(), st.integers(0, 2**32 - 1), st.sampled_from(("greedy", "cost_benefit", "fifo", "random")))
@settings(max_examples=60, deadline=None)
def test_random_load__nothing_is_lost_and_every_count_holds(
    device: DeviceConfig, seed: int, policy: str
) -> None:
    sim = Simulator(device, policy=policy, seed=seed % 1000)
    for part in range(4):
        sim.run(load(device, seed + part, 300, sim.now_ns))
        check(sim)
        if part % 2:
            sim.pass_days(9)
            check(sim)
    if getattr(device.ftl, "kind", "") == "subftl":
        assert sim.metrics()["uncorrectable_reads"] == 0


@pytest.mark.slow
@given(devices(), st.integers(0, 2**32 - 1), st.sampled_from(("greedy", "cost_benefit", "fifo", "random")))
@settings(max_examples=3000, deadline=None)
def test_random_load__long(device: DeviceConfig, seed: int, policy: str) -> None:
    sim = Simulator(device, policy=policy, seed=seed % 1000)
    for part in range(4):
        sim.run(load(device, seed + part, 300, sim.now_ns))
        check(sim)
