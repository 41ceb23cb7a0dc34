"""What a device has done since its metrics were reset."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.audit import count_lost
from ssdgym.engine.latency import bin_middles
from ssdgym.engine.layout import State
from ssdgym.simulator.tables import table_bytes
from ssdgym.workloads.requests import READ, WRITE

#: Percentiles in hundredths of a percent, so that ranks are computed in integers.
PERCENTILES = {"p50": 5000, "p95": 9500, "p99": 9900, "p99.9": 9990, "p99.99": 9999}


def metrics_of(state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
    """The metrics of device ``i`` of a batch; counts are of pages, erase sets or requests as named.

    ``write_amplification`` is page programs per host page written, None if none was. ``lost_pages`` counts
    reads that did not find the newest data, plus every logical page that an audit of the whole map finds
    wrong now.
    """
    run = state.run[i, 0]
    counters = {name: int(run[name]) for name in _COUNTERS}
    written = counters["host_pages_written"]
    programs = written + counters["relocated_pages"]
    counters["lost_pages"] += int(count_lost(state, i))
    return {
        "write_amplification": programs / written if written else None,
        **counters,
        "mean_gc_latency_ns": _mean_gc_latency_ns(counters, device),
        "requests": int(run["serial"]) - int(run["outstanding"]),
        "duration_ns": int(run["now"] - run["metrics_start_ns"]),
        "read_latency_ns": latency_summary(state, i, READ),
        "write_latency_ns": latency_summary(state, i, WRITE),
        **_energy(counters, device),
        "wear": _wear(state, i, device),
        "isolation_pages": device.geometry.physical_pages - device.usable.physical_pages,
        "policy_memory_bytes": table_bytes(device, state),
    }


_LATENCY_SUMS = {READ: "read_latency_sum_ns", WRITE: "write_latency_sum_ns"}
_COUNTERS = (
    "host_pages_written",
    "host_reads",
    "host_pages_trimmed",
    "hot_pages_written",
    "relocated_pages",
    "erases",
    "erased_sub_blocks",
    "gc_invocations",
    "gc_episodes",
    "gc_time_ns",
    "flash_reads",
    "rmw_reads",
    "queue_hits",
    "unmapped_reads",
    "slow_requests",
    "lost_pages",
)


def _mean_gc_latency_ns(counters: dict[str, int], device: DeviceConfig) -> float | None:
    """Die time of a round, its moves and its erase, waiting for the channel included; None where no
    time passes.
    """
    if device.ftl.timing == "none" or not counters["gc_invocations"]:
        return None
    return counters["gc_time_ns"] / counters["gc_invocations"]


def _energy(counters: dict[str, int], device: DeviceConfig) -> dict[str, float]:
    """Energy in total and of GC alone (moves and erases), uJ."""
    energy = device.energy
    blocks_erased = counters["erased_sub_blocks"] / device.geometry.sub_blocks_per_block
    erase_uj = blocks_erased * energy.erase_uj
    gc_uj = counters["relocated_pages"] * (energy.read_uj + energy.program_uj) + erase_uj
    host_reads = counters["flash_reads"] - counters["relocated_pages"]
    host_uj = host_reads * energy.read_uj + counters["host_pages_written"] * energy.program_uj
    return {"energy_uj": host_uj + gc_uj, "gc_energy_uj": gc_uj}


def _wear(state: State, i: int, device: DeviceConfig) -> dict[str, float]:
    """Erases of each sub-block since the device was made, and their mean since the metrics were reset."""
    geometry = device.geometry
    count = geometry.planes * geometry.blocks_per_plane * geometry.sub_blocks_per_block
    erases = np.ascontiguousarray(state.sub_block["erases"][i, :count])
    return {
        "mean_erases": float(erases.mean()),
        "max_erases": int(erases.max()),
        "min_erases": int(erases.min()),
        "std_erases": float(erases.std()),
        "mean_erases_measured": float(state.run["erased_sub_blocks"][i, 0] / count),
    }


def kept_latencies(state: State, i: int, op: int) -> np.ndarray:
    """Latencies in ns that were kept one by one, in the order in which the requests were started."""
    return state.latency["ns"][i][state.latency["op"][i] == op + 1]


def latency_summary(state: State, i: int, op: int) -> dict[str, float | int | bool]:
    """Mean, percentiles and maximum of the latencies of reads (op 0) or writes (op 1), ns.

    Percentiles are exact (nearest rank) as long as every request was kept or the rank is among the slowest
    kept; otherwise they are the middle of a histogram bin, within 0.8 %, and ``exact`` is false.
    """
    histogram = state.histogram[i, op]
    count = int(histogram.sum())
    if count == 0:
        return {"count": 0, "exact": True, **dict.fromkeys(("mean", *PERCENTILES, "max"), 0.0)}
    kept = np.sort(kept_latencies(state, i, op))
    slowest = np.sort(state.tail[i, op, 1 : 1 + state.tail[i, op, 0]])
    every = len(kept) == count
    total = int(state.run[_LATENCY_SUMS[op]][i, 0])
    summary: dict[str, float | int | bool] = {"count": count, "exact": every, "mean": total / count}
    for name, share in PERCENTILES.items():
        rank = -(-count * share // 10_000)  # nearest rank: rounded up
        if every:
            summary[name] = int(kept[rank - 1])
        elif count - rank < len(slowest):
            summary[name] = int(slowest[len(slowest) - 1 - (count - rank)])
        else:
            summary[name] = float(bin_middles()[np.searchsorted(np.cumsum(histogram), rank)])
    summary["max"] = int(kept[-1]) if every else _largest(slowest, histogram)
    return summary


def _largest(slowest: np.ndarray, histogram: np.ndarray) -> float:
    return float(slowest[-1]) if len(slowest) else float(bin_middles()[np.flatnonzero(histogram)[-1]])
