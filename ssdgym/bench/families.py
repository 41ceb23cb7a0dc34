"""How fast the FTL families are simulated, as a share of the rate of the page-mapping one on the same flash.

FTLs differ in what they do for a request, so the rate is that of flash operations: programs of pages and of
subpages, reads of pages, erases. Two devices carry out the same requests in turns, so that both meet the
machine in one state; an FTL that merges blocks gets fewer of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ssdgym.bench.policies import TIMINGS, Spread, Timing, spread_of
from ssdgym.bench.requests import take
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.loading import Source
from ssdgym.errors import SsdgymError
from ssdgym.requests import Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.workloads import open_workload
from ssdgym.workloads.generators.small_writes import SmallWritesConfig

DEVICES = ("subftl-tlc-small", "pen-vnand-small")
REFERENCE = "page"
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
_WORKLOAD = SmallWritesConfig(
    r_small=0.5, r_synch=0.9, theta=0.9, small_footprint=0.02, footprint=0.8, read_fraction=0.2
)


class FamilyRate(NamedTuple):
    """The rate of one FTL in one kind of timing.

    Attributes:
        ftl: its name.
        timing: `none`, counting only, or `event`.
        rate: flash operations/s.
        ratio: of the rate to the page-mapping FTL's in the same repeat.
        operations_per_request: flash operations that a request takes.
    """

    ftl: str
    timing: Timing
    rate: Spread
    ratio: Spread
    operations_per_request: float

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return self._asdict() | {"rate": self.rate._asdict(), "ratio": self.ratio._asdict()}


def measure_families(
    repeats: int = 5,
    announce: Callable[[str], None] | None = None,
    requests: int | None = None,
    device: Source | None = None,
) -> list[FamilyRate]:
    """Measure each FTL of the other families beside the page-mapping one, first untimed, then event-driven.

    Args:
        repeats: of each measurement.
        announce: called with what is measured next.
        requests: carried out in each, 500,000 by default; a 50th by FTLs that merge blocks.
        device: whose FTL is of another family than the page-mapping one; by default one of each.

    Raises:
        SsdgymError: the device maps pages.
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
    model: DeviceConfig,
    timing: Timing,
    requests: int,
    repeats: int,
    announce: Callable[[str], None] | None,
) -> Iterator[FamilyRate]:
    reference = _Player(_page_mapped(model, timing), requests)
    own_requests = requests // _MERGING_SHARE if model.ftl.mapping == "block" else requests
    for kind, policy in FTLS[model.ftl.mapping]:
        name = kind if policy is None else f"{kind} {policy}"
        if announce:
            announce(f"{name}, timing {timing}, beside {REFERENCE}")
        device = load_device({"base": model, "ftl.kind": kind, "ftl.timing": timing})
        player = _Player(device, max(own_requests, 1), policy)
        pairs = [(reference.rate(), player.rate()) for _ in range(1 + repeats)][1:]
        yield FamilyRate(
            ftl=name,
            timing=timing,
            rate=spread_of([own for _, own in pairs]),
            ratio=spread_of([own / other for other, own in pairs]),
            operations_per_request=player.operations / max(own_requests, 1),
        )


#: The geometry of a device whose FTL maps and erases neither parts of pages nor of blocks.
_PLAIN = {"subpages_per_page": 1, "sub_blocks_per_block": 1}


def _page_mapped(device: DeviceConfig, timing: Timing) -> DeviceConfig:
    """Return a device of the same flash and share of spare space whose FTL maps pages."""
    return load_device(
        {
            "name": REFERENCE,
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
        self._simulator = Simulator(
            device, policy=policy or "default", recording=Recording(latencies=1 << 10)
        )
        self._requests = _requests(device, requests)
        self.operations = 0
        self._simulator.fill(0.8)
        written = 0
        while written < _FILLS * device.geometry.physical_pages:
            self.rate()
            written += self.operations

    def rate(self) -> float:
        """Carry the requests out once; return flash operations per second."""
        self._simulator.reset_metrics()
        started = time.perf_counter()
        self._simulator.proceed(iter([self._requests]))
        seconds = time.perf_counter() - started
        metrics = self._simulator.metrics()
        if metrics["lost_pages"]:
            raise SsdgymError(
                f"{self._simulator.device.name}: data was lost, which is a fault of ssdgym; report it."
            )
        self.operations = _operations(metrics)
        return self.operations / seconds


def _requests(device: DeviceConfig, count: int) -> Requests:
    stream = open_workload(
        _WORKLOAD, logical_pages=device.logical_pages, page_size=device.host_unit_bytes, seed=0
    )
    requests = take(stream, count)
    requests["arrival_ns"] = 0
    return requests


def _operations(metrics: dict[str, Any]) -> int:
    """Return the programs, reads and erases of flash."""
    if "full_programs" in metrics:
        programs = metrics["full_programs"] + metrics["subpage_programs"]
    else:
        programs = metrics["host_pages_written"] + metrics["relocated_pages"]
    return int(programs + metrics["flash_reads"] + metrics["erases"])
