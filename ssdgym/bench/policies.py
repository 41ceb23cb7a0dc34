"""How fast devices are simulated under policies and FTLs, as a share of the rate under a reference.

Two devices are held at a time, what is measured and its reference. Both carry out the same requests in turns,
so that both meet the machine in one state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ssdgym.bench.measurement import Spread, in_turns
from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.config.loading import Source
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for, get_policy
from ssdgym.requests import Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families import family_of
from ssdgym.workloads import open_workload, page_writes
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.generators.small_writes import SmallWritesConfig
from ssdgym.workloads.stream import load_workload

Timing = Literal["none", "event"]
TIMINGS: tuple[Timing, ...] = ("none", "event")
Announce = Callable[[str], None]
_RECORDING = Recording(latencies=1 << 10)


class Rate(NamedTuple):
    """What a policy or an FTL reaches in one kind of timing.

    Attributes:
        name: label of the policy, or name of the FTL.
        timing: `none`, counting only, or `event`.
        rate: host pages/s under a policy, flash operations/s of an FTL.
        ratio: of the rate to the reference's in the same repeat.
        work: what was done meanwhile, by which rates of different policies differ, too.
    """

    name: str
    timing: Timing
    rate: Spread
    ratio: Spread
    work: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        spreads = {"rate": self.rate._asdict(), "ratio": self.ratio._asdict()}
        return {"name": self.name, "timing": self.timing, **spreads, **self.work}


def _carry_out(simulator: Simulator, requests: Requests) -> float:
    """Carry out requests and return the wall time, s."""
    started = time.perf_counter()
    simulator.proceed(iter([requests]))
    return time.perf_counter() - started


def _checked_metrics(simulator: Simulator) -> dict[str, Any]:
    metrics = simulator.metrics()
    if metrics["lost_pages"]:
        raise SsdgymError(f"{simulator.device.name}: pages were lost, which is a fault of ssdgym; report it.")
    return metrics


def _requests(workload: WorkloadConfig, device: DeviceConfig, counts: Sequence[int]) -> list[Requests]:
    """Return chunks of so many requests of a workload, one after the other."""
    stream = open_workload(
        workload, logical_pages=device.logical_pages, page_size=device.host_unit_bytes, seed=0
    )
    return [stream.take(count) for count in counts]


# Policies. Every device is warmed up by its own policy: every page is written once, then random pages are
# until garbage is collected. The reference is measured beside another of its kind, too: how far that ratio is
# from 1 is the error of the others.

REFERENCE = "baseline"
#: Those that SpeedupGC's paper compares.
POLICIES = (REFERENCE, "gsm", "gsm_plus", "speedupgc", "pb", "speedupgc_pb")
DEVICE = "speedupgc-64l"
WORKLOAD = "zipf99"
HOST_PAGES = 500_000

#: Requests outstanding where the device does not say: page writes have no pace of their own.
_QUEUE_DEPTH = 32
_CHUNK = 1 << 20
#: Random overwrites come in windows of a 32nd of the logical pages; so many are made to see a collection.
_WINDOWS, _MOST_WINDOWS = 32, 320


def measure_policies(
    policies: Sequence[str] = POLICIES,
    *,
    device: Source = DEVICE,
    repeats: int = 5,
    host_pages: int = HOST_PAGES,
    announce: Announce | None = None,
) -> list[Rate]:
    """Measure each policy beside the reference, first untimed, then event-driven.

    Each repeat writes so many single pages, skewed, to a device as its policy runs it.
    """
    model = load_device(device)
    model = with_ftl(model, {"timing": "event", "queue_depth": model.ftl.queue_depth or _QUEUE_DEPTH})
    reference, *others = (get_policy(name) for name in (REFERENCE, *policies))
    for policy in (reference, *others):
        adapted = device_for(model, None, policy)
        family_of(adapted).check(adapted)
    chunks = _requests(load_workload(WORKLOAD), model, [host_pages] * (1 + repeats))
    found = []
    for policy in others:
        if announce:
            announce(f"{policy.label} beside {REFERENCE}")
        pair = _warmed_up(model, reference), _warmed_up(model, policy)
        found += [_measure(*pair, policy.label, timing, chunks) for timing in TIMINGS]
    return sorted(found, key=lambda row: TIMINGS.index(row.timing))


def _warmed_up(device: DeviceConfig, policy: Policy) -> Simulator:
    """Return a full device that collects garbage, untimed until now."""
    simulator = Simulator(device, policy=policy, recording=_RECORDING)
    _set_timing(simulator, "none")
    pages = simulator.logical_pages
    for first in range(0, pages, _CHUNK):
        _carry_out(simulator, page_writes(np.arange(first, min(first + _CHUNK, pages))))
    rng = np.random.default_rng(0)
    for _ in range(_MOST_WINDOWS):
        _carry_out(simulator, page_writes(rng.integers(0, pages, max(1, pages // _WINDOWS))))
        if simulator.state.counters["gc_invocations"][0, 0]:
            return simulator
    raise SsdgymError(
        f"device {device.name} has collected nothing after {_MOST_WINDOWS // _WINDOWS} overwrites of all its "
        "logical pages, so its policies cannot be compared; choose one with less spare space."
    )


def _set_timing(simulator: Simulator, timing: Timing) -> None:
    simulator.arrays.params["timed"] = timing == "event"


def _page_rate(simulator: Simulator, writes: Requests) -> float:
    """Carry out writes of single pages; return host pages per second."""
    return len(writes) / _carry_out(simulator, writes)


def _measure(
    reference: Simulator, simulator: Simulator, name: str, timing: Timing, chunks: Sequence[Requests]
) -> Rate:
    """Carry out the same chunks on both in turns; the first one does not count."""
    for each in (reference, simulator):
        _set_timing(each, timing)
        _carry_out(each, chunks[0])
        each.reset_metrics()
    own, other = (map(partial(_page_rate, each), chunks[1:]) for each in (simulator, reference))
    rate, ratio = in_turns(own.__next__, other.__next__, len(chunks) - 1)
    metrics = _checked_metrics(simulator)
    work = {metric: metrics[metric] for metric in ("write_amplification", "gc_invocations")}
    return Rate(name, timing, rate, ratio, work)


# FTL families, beside the page-mapping one on the same flash. FTLs differ in what they do for a request, so
# the rate is that of flash operations: programs of pages and of subpages, reads of pages, erases. An FTL that
# merges blocks gets fewer requests.

DEVICES = ("subftl-tlc-small", "pen-vnand-small")
PAGE_FAMILY = "page"
#: What is measured on a device, by the mapping of its FTL: kinds, and policies where not the usual one.
FTLS = {
    "subpage": (("cgm", None), ("fgm", None), ("sector_log", None), ("subftl", None)),
    "block": (("nftl", None), ("nftl", "mmerge"), ("superblock", None), ("superblock", "mmerge")),
}
REQUESTS = 500_000
#: An FTL that maps whole blocks merges one for every few requests: it gets one in so many of them.
_MERGING_SHARE = 50
#: How often its physical pages are written to a device before it is measured, so that all collect.
_FILLS = 2

#: Half of the requests are small, and nine of ten of these synchronous, over a tenth of the region's pages.
_SMALL_WRITES = SmallWritesConfig(
    r_small=0.5, r_synch=0.9, theta=0.9, small_footprint=0.02, footprint=0.8, read_fraction=0.2
)


def measure_families(
    repeats: int = 5,
    announce: Announce | None = None,
    requests: int | None = None,
    device: Source | None = None,
) -> list[Rate]:
    """Measure each FTL of the other families beside the page-mapping one, first untimed, then event-driven.

    Each repeat carries out 500,000 requests by default, a 50th of them by FTLs that merge blocks.
    """
    models = [load_device(name) for name in ([device] if device else DEVICES)]
    for model in models:
        if model.ftl.mapping not in FTLS:
            raise SsdgymError(
                f"device {model.name} maps pages, as what it would be measured beside does; choose one such "
                f"as {' or '.join(DEVICES)}."
            )
    return [
        rate
        for model in models
        for timing in TIMINGS
        for rate in _beside_page_mapping(model, timing, requests or REQUESTS, repeats, announce)
    ]


def _beside_page_mapping(
    model: DeviceConfig, timing: Timing, requests: int, repeats: int, announce: Announce | None
) -> Iterator[Rate]:
    reference = _Player(_page_mapped(model, timing), requests)
    own_requests = max(requests // _MERGING_SHARE if model.ftl.mapping == "block" else requests, 1)
    for kind, policy in FTLS[model.ftl.mapping]:
        name = kind if policy is None else f"{kind} {policy}"
        if announce:
            announce(f"{name}, timing {timing}, beside {PAGE_FAMILY}")
        device = load_device({"base": model, "ftl.kind": kind, "ftl.timing": timing})
        player = _Player(device, own_requests, policy)
        for each in (reference, player):
            each.rate()
        rate, ratio = in_turns(player.rate, reference.rate, repeats)
        yield Rate(name, timing, rate, ratio, {"operations_per_request": player.operations / own_requests})


#: The geometry of a device whose FTL maps and erases neither parts of pages nor of blocks.
_PLAIN = {"subpages_per_page": 1, "sub_blocks_per_block": 1}


def _page_mapped(device: DeviceConfig, timing: Timing) -> DeviceConfig:
    """Return a device of the same flash and share of spare space whose FTL maps pages."""
    return load_device(
        {
            "name": PAGE_FAMILY,
            "geometry": device.geometry.model_copy(update=_PLAIN).model_dump(),
            "capacity": {"over_provisioning": device.spare_ratio},
            "timing": device.timing.model_dump(),
            "ftl": {
                "timing": timing,
                "queue_depth": device.ftl.queue_depth,
                "allocation": "dynamic",
                "placement": "single",
                "gc": {"free_blocks": 2},
            },
        }
    )


class _Player:
    """A device that carries out the same requests again and again, after it has begun to collect.

    Attributes:
        operations: flash operations of the last time.
    """

    def __init__(self, device: DeviceConfig, requests: int, policy: str | None = None) -> None:
        self._simulator = Simulator(device, policy=policy or "default", recording=_RECORDING)
        (self._requests,) = _requests(_SMALL_WRITES, device, [requests])
        self._requests["arrival_ns"] = 0
        self.operations = 0
        self._simulator.fill(0.8)
        written = 0
        while written < _FILLS * device.geometry.physical_pages:
            self.rate()
            written += self.operations

    def rate(self) -> float:
        """Carry the requests out once; return flash operations per second."""
        self._simulator.reset_metrics()
        seconds = _carry_out(self._simulator, self._requests)
        metrics = _checked_metrics(self._simulator)
        programs = ("full_programs", "subpage_programs")
        if programs[0] not in metrics:
            programs = ("host_pages_written", "relocated_pages")
        self.operations = int(sum(metrics[name] for name in (*programs, "flash_reads", "erases")))
        return self.operations / seconds
