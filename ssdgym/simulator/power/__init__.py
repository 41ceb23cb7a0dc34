"""Power loss: what is found on flash afterwards, what is lost, and how the device goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.entries import format_device
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import family_of
from ssdgym.simulator.power import block, page, subpage
from ssdgym.simulator.power.commands import acknowledged_versions, commands_under_way
from ssdgym.simulator.power.scan import recovery_ns

_FAMILIES: dict[str, Any] = {"page": page, "subpage": subpage, "block": block}
#: What an observer has noted, who has power, and wear: arrays of all families, and fields of others.
_KEPT = ("latency", "histogram", "gc_histogram", "tail", "life", "endurance")
_KEPT_FIELDS: dict[str, tuple[str, ...]] = {
    "control": ("clock", "now", "rounds", "admitted_pages", "serial", "metrics_start_ns"),
    "stream": ("host_pages_written", "relocated_pages", "overflow_pages", "victims", "victim_valid_pages"),
    "sub_block": ("erases",),
    "plane": ("gone_pages",),
}


@dataclass(frozen=True)
class PowerReport:
    """What a power cut has done, and what recovery from it took.

    Attributes:
        reads: pages that the scan has read.
        time_ns: of the recovery; dies work at the same time.
        half_programmed: pages that were being programmed: they fail their check, and count as invalid.
        half_erased: blocks that were being erased: they are erased again.
        unflushed_pages: logical pages whose last write was acknowledged and only in the write buffer.
        lost_pages: other logical pages whose last acknowledged write is gone; none with capacitors.
        trimmed_pages: logical pages that had been trimmed and are there again.
        moved_pages: moved to win free pages where collection was interrupted.
        erases: for that, and of half-erased blocks.
    """

    reads: int
    time_ns: int
    half_programmed: int
    half_erased: int
    unflushed_pages: int
    lost_pages: int
    trimmed_pages: int
    moved_pages: int
    erases: int


def recover(
    state: State, i: int, device: DeviceConfig, rules: np.ndarray, capacitors: bool = False
) -> PowerReport:
    """Cut the power of device `i` and make it what it is after recovery, as `Simulator.cut_power`."""
    if device.bit_errors is not None:
        raise SsdgymError(
            f"device {device.name}: power cannot be cut where reads have errors; leave bit_errors out of the "
            "device."
        )
    family, count = _FAMILIES[family_of(device).engine.name], device.logical_pages
    cut = [] if capacitors else list(commands_under_way(state, i))
    under_way: dict[tuple[int, int], int] = {}
    for command in cut:
        under_way |= family.replaced_by(state, i, command)
    acknowledged = acknowledged_versions(state, i, under_way)
    unflushed = family.unflushed(state, i, device, {lpn for lpn, _ in under_way})
    found = family.scan(state, i, device, cut)
    lpn, ppn = found.newest_copies()
    versions = np.zeros(count, np.int64)
    versions[lpn] = found.version[ppn]
    _power_off(state, i, device, family)
    state.logical["ppn"][i, lpn], state.logical["version"][i, lpn] = ppn, versions[lpn]
    family.adopt(state, i, found, rules)
    time_ns, work = recovery_ns(state, i, device, found), found.work
    if state.params["timed"][i, 0]:
        state.control["now"][i, 0] += time_ns
    return PowerReport(
        reads=int(found.reads.sum()),
        time_ns=time_ns,
        half_programmed=found.half_programmed,
        half_erased=len(found.half_erased),
        unflushed_pages=int(unflushed.sum()),
        lost_pages=int((versions < acknowledged).sum()),
        trimmed_pages=int(((acknowledged == 0) & (versions > 0)).sum()),
        moved_pages=int(work[:, 0].sum()),
        erases=int(work[:, 1].sum()) + len(found.half_erased),
    )


def _power_off(state: State, i: int, device: DeviceConfig, family: Any) -> None:
    """Make a device an empty one with its wear, but for what an observer has noted."""
    builder = family_of(device)
    fields = {**_KEPT_FIELDS, **family.KEPT_FIELDS}
    kept = {
        (array, name): getattr(state, array)[name][i].copy()
        for array in fields.keys() & set(state._fields)
        for name in fields[array]
    }
    for name in set(state._fields) - {*builder.fixed, *builder.counted, *_KEPT, *family.KEPT}:
        getattr(state, name)[i].view(np.uint8)[...] = 0  # as bytes, which is faster for records
    format_device(state, i)
    for (array, name), values in kept.items():
        getattr(state, array)[name][i] = values
