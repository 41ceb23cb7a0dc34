"""Over a hundred thousand power cuts, one after the other on small devices: no acknowledged write is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.entries import count_lost
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import device, sync_requests
from tests.simulator.power.cutting import host_view, lost_to_host, mapped_versions
from tests.simulator.power.test_block import device as block_device
from tests.simulator.power.test_subpage import KINDS
from tests.simulator.power.test_subpage import device as subpage_device

#: Cuts of each device, and of how many of them one is audited.
_CUTS, _AUDITED = 5000, 250
_SMALL: dict[str, Any] = {"blocks_per_plane": 10, "pages_per_block": 6}
_IN_SETS = {"blocks_per_plane": 10, "pages_per_block": 8, "sub_blocks_per_block": 2}


def page_device(timing: str, **ftl: Any) -> DeviceConfig:
    return device(_SMALL, {"timing": timing, **ftl}, over_provisioning=1.0)


_MORTAL: dict[str, Any] = {
    "endurance": {"mean": 25, "spread": 0.3},
    "erase_failure": {"worn": 0.05},
    "capacity": "variant",
    "least_capacity": 0.5,
}
_FAILING = {**_MORTAL, "program_failure": {"fresh": 0.001, "worn": 0.01}}


def mortal_device(timing: str, **fields: Any) -> DeviceConfig:
    """A device whose cells wear out, and that gives up logical pages down to a half of them."""
    cells = _MORTAL if "erase_unit" in fields else _FAILING
    geometry = {"blocks_per_plane": 16, "pages_per_block": 8, **fields.pop("geometry", {})}
    return device(geometry, {"timing": timing}, over_provisioning=1.5, cells=cells, **fields)


_BY_FOUR = {"sub_blocks_per_block": 4, "layers_per_block": 4}
#: A device and a policy that loses nothing: without time, in time with capacitors, or with static allocation.
DEVICES: dict[str, tuple[DeviceConfig, str, bool]] = {
    **{f"page/none/{policy}": (page_device("none"), policy, False) for policy in ("greedy", "fifo+sep_gc")},
    "page/none/gsm": (device(_IN_SETS, erase_unit="sub_block_run", over_provisioning=1.0), "gsm", False),
    "page/event/static": (page_device("event"), "greedy", False),
    "page/event/hot_cold": (page_device("event"), "cost_benefit+hot_cold", False),
    "page/event/sep_gc": (page_device("event"), "random+sep_gc", False),
    **{
        f"page/event/{allocation}": (page_device("event", allocation=allocation), "greedy", True)
        for allocation in ("dynamic", "late")
    },
    **{
        f"page/event/{allocation}/erases_wait": (
            page_device("event", allocation=allocation, gc={"free_blocks": 2, "erases_wait": True}),
            "greedy",
            False,
        )
        for allocation in ("dynamic", "late")
    },
    **{
        f"page/{timing}/worn": (mortal_device(timing), "greedy+sep_gc", False) for timing in ("none", "event")
    },
    **{
        f"page/{timing}/worn_in_part": (
            mortal_device(timing, geometry=_BY_FOUR, erase_unit="sub_block_set"),
            "pb",
            False,
        )
        for timing in ("none", "event")
    },
    **{f"{kind}/none": (subpage_device(kind), "greedy", False) for kind in KINDS},
    **{f"{kind}/event": (subpage_device(kind, "event"), "greedy", True) for kind in KINDS},
    **{
        f"{kind}/{timing}": (block_device(kind, timing), "mmerge", False)
        for kind in ("nftl", "superblock")
        for timing in ("none", "event")
    },
    **{
        f"{kind}/{timing}/worn": (subpage_device(kind, timing, _MORTAL, 7), "greedy", timing == "event")
        for kind in KINDS
        for timing in ("none", "event")
    },
    "never/none/worn": (subpage_device("subftl", "none", _FAILING, 7, advance="never"), "greedy", False),
    **{
        f"{kind}/{timing}/worn": (block_device(kind, timing, _FAILING, 7), "mmerge", False)
        for kind in ("nftl", "superblock")
        for timing in ("none", "event")
    },
}


def alive(config: DeviceConfig, policy: str, seed: int) -> Simulator:
    return Simulator(config, policy=policy, seed=seed, recording=Recording(latencies=64, slowest=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_cuts_one_after_the_other__lose_nothing(name: str) -> None:
    config, policy, capacitors = DEVICES[name]
    sim = alive(config, policy, 1)
    rng, half, trims, lives = np.random.default_rng(7), 0, 0, 1
    pages = int(sim.state.params["least_capacity"][0, 0]) if config.cells else sim.logical_pages
    for k in range(_CUTS):
        if sim.metrics().get("end_of_life"):
            lives += 1
            sim = alive(config, policy, lives)
        requests = sync_requests(24, pages, seed=k, gap_ns=400)
        requests["arrival_ns"] += sim.now_ns
        base = mapped_versions(sim)
        sim.reset_metrics()
        sim.feed(requests)
        if config.ftl.timing == "event" and k % 2:
            sim.set_stop(at_ns=sim.now_ns + int(rng.integers(1, 12_000)))
        else:
            sim.set_stop(int(rng.integers(1, 16)))
        sim.advance()
        sim.set_stop()
        view = host_view(sim, requests, base)
        report = sim.cut_power(capacitors=capacitors)
        assert report.lost_pages == 0 and len(lost_to_host(sim, view)) == 0, k
        assert count_lost(sim.arrays, 0) == 0
        if k % _AUDITED == 0:
            assert first_fault(sim.arrays, 0) == NO_FAULT
        half += report.half_programmed + report.half_erased
        trims += report.trimmed_pages
    assert trims > 0
    assert (lives > 1) == (config.cells is not None)
    assert (half > 0) == (config.ftl.timing == "event" and not capacitors)
