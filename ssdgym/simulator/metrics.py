"""The metrics of a device since their last reset."""

from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import COUNTERS, SUMMED_COUNTERS
from ssdgym.engine.entries import count_lost
from ssdgym.engine.time.transactions import bin_middles
from ssdgym.requests import READ, WRITE
from ssdgym.simulator.cells import lifetime_metrics
from ssdgym.simulator.families import erases_of, family_of_state, ratio

#: Percentiles, in hundredths of a percent, so that integers suffice to compute ranks.
PERCENTILES = {"p50": 5000, "p95": 9500, "p99": 9900, "p99.9": 9990, "p99.99": 9999}
#: The slowest 1 in so many requests (0.001 %) make the tail latency, as in the 3D-NAND block size study.
_REQUESTS_PER_SLOW_ONE = 100_000
_BIN_MIDDLES = bin_middles()


#: Names of arrays with an entry for each page, which metrics read only to count lost pages.
BY_PAGE = (
    *("entry_of", "in_flight", "logical", "page_memory", "page_use", "page_valid"),
    *("physical", "stored_h", "updated"),
)


def metrics_of(state: State, i: int, device: DeviceConfig, lost: int | None = None) -> dict[str, Any]:
    """Return the metrics of a device since their last reset; `lost` is from `count_lost`, None: call it.

    Counts are of pages unless named otherwise. Ratios with denominator 0 are None. Families add metrics and
    define some differently.

    * `write_amplification`: pages programmed, padding included, per page written by the host.
    * `lost_pages`: reads that did not find the newest data, plus logical pages whose map entry is wrong when
      the metrics are computed. A number above 0 shows a fault of the simulator.
    * `mean_victim_valid_pages`: valid pages of victims per erased block. Valid pages are counted when a round
      starts, blocks when they are erased. A round that a reset or the end interrupts counts in part.
    * `clustered_share`: share of the relocated pages that lie next to another relocated page in their block.
      `mean_relocated_run`: mean number of relocated pages in a row in a block.
    * `moved_bytes`: bytes that the FTL has relocated.
    * `rmw_share`: share of the host's page writes that first read the page.
    * `mean_gc_latency_ns`: mean die time of a GC round or merge, including waits for the channel.
    * `requests`, `duration_ns`, `requests_per_s`: finished requests, simulated time, and their ratio.
    * `read_latency_ns`, `write_latency_ns`, `latency_ns`: count, mean, maximum, percentiles p50 to p99.99.
    * `read_parts_ns`, `write_parts_ns`: means of the parts of a latency: `service`, `queue_wait`, `gc_wait`;
      the 99th percentile of `gc_wait`. `met_gc_share`: share of requests that waited for GC.
    * `tail_latency_ns`: mean latency of the slowest 0.001 % of reads and writes.
    * `energy_uj`, `gc_energy_uj`: energy of all commands and of GC; None if the device gives no energies.
    * `wear`: minimum, mean, maximum and standard deviation of the erase counts of sub-blocks since the device
      was made; the mean number of erases since the last reset.
    * `policy_memory_bytes`, `controller_table_bytes`: size of the records and tables of rules, in the
      simulator and in a controller, where each field has only the bits that the geometry requires.
    * `end_of_life`, `lifetime`: only if cells wear out; `docs/lifetime.md` defines them.
    * `overflow_share`: share of the relocated pages that went to the open block of another stream because the
      pool was low.
    """
    family = family_of_state(state)
    control, counted = state.control[i, 0], state.counters[i, 0]
    counters = {name: int(counted[name]) for name in COUNTERS.names or () if name not in SUMMED_COUNTERS}
    written = counters["host_pages_written"]
    programs = written + counters["relocated_pages"] + counters["padded_pages"]
    requests = int(control["serial"]) - int(control["outstanding"])
    duration_ns = int(control["now"] - control["metrics_start_ns"])
    counters["lost_pages"] += count_lost(state, i) if lost is None else lost
    untimed = device.ftl.timing == "none"
    victim_valid, clustered = int(counted["victim_valid_pages"]), int(counted["clustered_pages"])
    return {
        "write_amplification": ratio(programs, written),
        **counters,
        "mean_victim_valid_pages": ratio(victim_valid, counters["erases"]),
        "clustered_share": ratio(clustered, counters["relocated_pages"]),
        "mean_relocated_run": ratio(counters["relocated_pages"], int(counted["relocated_runs"])),
        "moved_bytes": counters["relocated_pages"] * device.host_unit_bytes,
        "rmw_share": ratio(counters["rmw_reads"], written),
        "mean_gc_latency_ns": None if untimed else ratio(counters["gc_time_ns"], counters["gc_invocations"]),
        "requests": requests,
        "duration_ns": duration_ns,
        "requests_per_s": ratio(requests, duration_ns / 1e9),
        "read_latency_ns": latency_summary(state, i, READ),
        "write_latency_ns": latency_summary(state, i, WRITE),
        "latency_ns": latency_summary(state, i, READ, WRITE),
        **_parts_of_latency(state, i),
        "tail_latency_ns": tail_latency_ns(state, i),
        **_energy(counters, device),
        "wear": _wear(state, i, device),
        "logical_pages": device.logical_pages,
        "isolation_pages": device.geometry.physical_pages - device.usable.physical_pages,
        **family.metrics(state, i, device),
        **lifetime_metrics(state, i, device),
        **({} if any(dict(device.energy).values()) else dict.fromkeys(_ENERGIES)),
    }


def reset_metrics(state: State, i: int) -> None:
    """Clear counters and latencies of device `i`; the device does not change."""
    control, family = state.control[i, 0], family_of_state(state)
    if state.params["endures"][i, 0]:
        state.life["programmed"][i, 0] += family.pages_programmed(state, i)
    family.reset_metrics(state, i)
    # Requests under way are numbered anew, so that serial - outstanding counts those finished from now on.
    slots = state.slot[i]
    under_way = np.flatnonzero(slots["remaining"] > 0)
    under_way = under_way[np.argsort(slots["serial"][under_way])]
    slots["serial"][under_way] = np.arange(len(under_way))
    # Clear only what was used: zeros of a new device take no memory.
    state.latency[i][: control["serial"]] = 0
    control["serial"] = len(under_way)
    control["metrics_start_ns"] = control["now"]
    state.histogram[i] = 0
    state.gc_histogram[i] = 0
    state.tail[i] = 0


def _parts_of_latency(state: State, i: int) -> dict[str, Any]:
    """Return the parts of the latencies of reads and writes, and the share of requests that waited for GC.

    The parts are means in ns, taken from the page of each request that ends last: `service` is the time of
    its command, `gc_wait` the wait for GC commands of its die, `queue_wait` the rest of the latency. They are
    None without requests. `gc_wait_p99` is the middle of a histogram bin.
    """
    found: dict[str, Any] = {}
    counted = state.counters[i, 0]
    requests = 0
    for op, name in _NAMES.items():
        count = int(state.histogram[i, op].sum())
        requests += count
        latency, service, gc_wait = (
            int(counted[f"{name}_{part}_sum_ns"]) for part in ("latency", "service", "gc_wait")
        )
        found[f"{name}_parts_ns"] = {
            "service": ratio(service, count),
            "queue_wait": ratio(latency - service - gc_wait, count),
            "gc_wait": ratio(gc_wait, count),
            "gc_wait_p99": _gc_wait_p99(state.gc_histogram[i, op], count),
        }
    return {**found, "met_gc_share": ratio(int(counted["met_gc_requests"]), requests)}


def _gc_wait_p99(histogram: np.ndarray, count: int) -> float | None:
    """Return the 99th percentile of `count` waits for GC; the histogram lacks the waits that are 0."""
    if count == 0:
        return None
    rank = -(-count * 99 // 100) - (count - int(histogram.sum()))
    if rank <= 0:
        return 0.0
    return float(_BIN_MIDDLES[np.searchsorted(np.cumsum(histogram), rank)])


_ENERGIES = ("energy_uj", "gc_energy_uj")
_NAMES = {READ: "read", WRITE: "write"}


def _energy(counters: dict[str, int], device: DeviceConfig) -> dict[str, float]:
    """Return the energy of all commands, and that of GC alone (relocations and erases), uJ."""
    energy = device.energy
    blocks_erased = counters["erased_sub_blocks"] / device.geometry.sub_blocks_per_block
    erase_uj = blocks_erased * energy.erase_uj
    gc_uj = counters["relocated_pages"] * (energy.read_uj + energy.program_uj) + erase_uj
    host_reads = counters["flash_reads"] - counters["relocated_pages"]
    host_uj = host_reads * energy.read_uj + counters["host_pages_written"] * energy.program_uj
    return {"energy_uj": host_uj + gc_uj, "gc_energy_uj": gc_uj}


def _wear(state: State, i: int, device: DeviceConfig) -> dict[str, float]:
    """Return statistics of erases per sub-block since the device was made; one mean is since the reset."""
    erases = erases_of(state, i, device)
    return {
        "mean_erases": float(erases.mean()),
        "max_erases": int(erases.max()),
        "min_erases": int(erases.min()),
        "std_erases": float(erases.std()),
        "mean_erases_measured": float(state.counters["erased_sub_blocks"][i, 0] / erases.size),
    }


def kept_latencies(state: State, i: int, *ops: int) -> np.ndarray:
    """Return the latencies, ns, that were stored one by one, in the order in which requests were started."""
    kept = state.latency[i][: state.control["serial"][i, 0]]
    return kept["ns"][np.isin(kept["op"], [op + 1 for op in ops], kind="table")]


def latency_summary(state: State, i: int, *ops: int) -> dict[str, float | int | bool]:
    """Return mean, percentiles and maximum of the latencies of reads, writes or both together, ns.

    If every latency was stored, all percentiles are exact (nearest rank), and `exact` is true. Otherwise
    percentiles among the `Recording.slowest` are exact; others are middles of histogram bins, within 0.8 %.
    """
    histogram = state.histogram[i, list(ops)].sum(axis=0)
    count = int(histogram.sum())
    if count == 0:
        # The types are the same as with requests, so that a column of results has one type.
        return {"count": 0, "exact": True, "mean": 0.0, **dict.fromkeys((*PERCENTILES, "max"), 0)}
    kept = np.sort(kept_latencies(state, i, *ops))
    slowest = _slowest(state, i, *ops)
    every = len(kept) == count
    total = sum(int(state.counters[f"{_NAMES[op]}_latency_sum_ns"][i, 0]) for op in ops)
    summary: dict[str, float | int | bool] = {"count": count, "exact": every, "mean": total / count}
    for name, share in {**PERCENTILES, "max": 10_000}.items():
        rank = -(-count * share // 10_000)  # nearest rank: rounded up
        if every:
            summary[name] = int(kept[rank - 1])
        elif count - rank < len(slowest):
            summary[name] = int(slowest[len(slowest) - 1 - (count - rank)])
        else:
            summary[name] = float(_BIN_MIDDLES[np.searchsorted(np.cumsum(histogram), rank)])
    return summary


def tail_latency_ns(state: State, i: int) -> float | None:
    """Return the mean latency of the slowest 0.001 % of reads and writes, and of at least one of them, ns.

    The mean is exact. It is None without requests. Unless every latency was stored, it is also None if
    0.001 % are more than `Recording.slowest` requests; by default, that needs 1.6 thousand million requests.
    """
    count = int(state.histogram[i, [READ, WRITE]].sum())
    if count == 0:
        return None
    kept = kept_latencies(state, i, READ, WRITE)
    slowest = np.sort(kept) if len(kept) == count else _slowest(state, i, READ, WRITE)
    wanted = -(-count // _REQUESTS_PER_SLOW_ONE)
    return int(slowest[-wanted:].sum()) / wanted if wanted <= len(slowest) else None


def _slowest(state: State, i: int, *ops: int) -> np.ndarray:
    """Return the slowest latencies of the kinds `ops` together, rising, without gaps among them."""
    heaps = [state.tail[i, op] for op in ops]
    merged = np.sort(np.concatenate([heap[1 : 1 + heap[0]] for heap in heaps]))
    # Once a heap has dropped requests, only as many of the slowest as one heap holds are certain.
    dropped = any(heap[0] < state.histogram[i, op].sum() for heap, op in zip(heaps, ops, strict=True))
    return merged[len(merged) - (state.tail.shape[2] - 1) :] if dropped else merged
