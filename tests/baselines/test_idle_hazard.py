"""idle_hazard: what it keeps of idle times, and what that is worth under bursts."""

from __future__ import annotations

from typing import Any

from ssdgym.config.device import DeviceConfig
from ssdgym.simulator import Simulator

#: Of the suite `latency`, at 7 %, and bursts like those of its split validation.
DEVICE = {
    "name": "bursts",
    "geometry": {
        "channels": 2,
        "chips_per_channel": 2,
        "blocks_per_plane": 128,
        "pages_per_block": 64,
        "page_size_bytes": 16384,
    },
    "capacity": {"over_provisioning": 0.07},
    "timing": {"read_ns": 60_000, "program_ns": 700_000, "erase_ns": 3_500_000, "transfer_ns_per_byte": 2.5},
    "ftl": {"placement": "sep_gc", "gc": {"free_blocks": 2, "preemptible": True}},
}
BURSTS = {
    "kind": "zipf",
    "theta": 0.9,
    "read_fraction": 0.5,
    "interarrival_ns": 2_000_000,
    "arrivals": "bursts",
    "burst_requests": 96,
    "burst_interarrival_ns": 150_000,
}


def ran(idle: str) -> tuple[Simulator, dict[str, Any]]:
    sim = Simulator(DeviceConfig.model_validate(DEVICE), policy=f"cost_benefit+sep_gc+{idle}")
    sim.fill()
    return sim, sim.run(BURSTS, host_pages=20_000, warmup=20_000, seed=1)


def test_bursts__shorter_reads_and_writes_than_by_a_threshold__and_no_more_relocations() -> None:
    _, before = ran("threshold(blocks=6)")
    _, after = ran("idle_hazard(blocks=6)")
    assert after["read_latency_ns"]["p99"] < 0.8 * before["read_latency_ns"]["p99"]
    assert after["write_latency_ns"]["p99"] < before["write_latency_ns"]["p99"]
    assert after["write_amplification"] < 1.01 * before["write_amplification"]


def test_counts__are_those_of_idle_times__and_are_halved() -> None:
    sim, _ = ran("idle_hazard(blocks=6)")
    memory = sim.rule_memory("idle")[0]
    assert memory["count"].sum() == memory["total"]
    assert 1000 <= memory["total"] < 2000
