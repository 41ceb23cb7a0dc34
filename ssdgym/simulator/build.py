"""From configurations to devices: thresholds in pages, and the check that the device can run full."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import page_ftl
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.core.records import (
    DYNAMIC,
    HARDWARE,
    HOT_COLD,
    HOT_TO_VICTIMS,
    HOTNESS_GROUPS,
    IN_STREAMS,
    LATE,
    MAX_PAIRS,
    MAX_STREAMS,
    NO_ISOLATION,
    PARAMS,
    RELAXED,
    SINGLE_PLANE,
    SOFTWARE,
    STATIC,
    STRICT,
    SUB_BLOCK_RUN,
    SUB_BLOCK_SET,
    WHOLE_BLOCK,
)
from ssdgym.engine.entries import format_device
from ssdgym.engine.page.family import PAGE
from ssdgym.engine.time.latency import BINS
from ssdgym.errors import SsdgymError
from ssdgym.simulator.tables import table_fields, table_sizes

#: A plane keeps at least so many blocks in its pool between rounds: one for relocations, one for the host.
FLOOR_BLOCKS = 2

_ERASE_UNITS = {"block": WHOLE_BLOCK, "sub_block_run": SUB_BLOCK_RUN, "sub_block_set": SUB_BLOCK_SET}
_ISOLATIONS = {"none": NO_ISOLATION, "software": SOFTWARE, "hardware": HARDWARE}
_PLACEMENTS = {
    "single": IN_STREAMS,
    "sep_gc": IN_STREAMS,
    "hot_cold": HOT_COLD,
    "hot_to_victims": HOT_TO_VICTIMS,
    "hotness_groups": HOTNESS_GROUPS,
}
_ALLOCATIONS = {"static": STATIC, "dynamic": DYNAMIC, "late": LATE}
_MULTI_PLANE = {"none": SINGLE_PLANE, "strict": STRICT, "relaxed": RELAXED}


@dataclass(frozen=True)
class Recording:
    """Latencies kept per device: so many one by one (the first of a run), and so many of the slowest."""

    latencies: int = 1 << 20
    slowest: int = 1 << 14


@dataclass(frozen=True)
class Thresholds:
    """When GC of a plane starts and stops, in pages, and what a plane can hold because of it."""

    low_free: int
    low_pool: int
    stop_free: int
    stop_pool: int
    background_free: int
    valid_limit: int


def thresholds_of(device: DeviceConfig) -> Thresholds:
    """Translate the GC configuration to pages of a plane."""
    geometry, ftl = device.usable, page_ftl(device.ftl)
    gc = ftl.gc
    floor = FLOOR_BLOCKS * geometry.pages_per_block
    low_free = _pages(gc.free_fraction, geometry.plane_pages)
    low_pool = (gc.free_blocks or 0) * geometry.pages_per_block
    stop_free = max(low_free, _pages(gc.barrier_fraction, geometry.plane_pages))
    stop_pool = max(low_pool, (gc.barrier_blocks or 0) * geometry.pages_per_block)
    background_free = _pages(gc.background_fraction, geometry.plane_pages)
    open_pages = ftl.streams * geometry.pages_per_block
    kept = max(stop_free, background_free, stop_pool, floor)
    barrier = gc.mode == "barrier"
    return Thresholds(
        low_free=low_free,
        low_pool=max(low_pool, floor),
        stop_free=stop_free if barrier else 0,
        stop_pool=max(stop_pool, floor) if barrier else floor,
        background_free=background_free,
        valid_limit=geometry.plane_pages - kept - open_pages,
    )


def _pages(fraction: float | None, plane_pages: int) -> int:
    return 0 if fraction is None else math.ceil(fraction * plane_pages)


def whole_blocks_kept(device: DeviceConfig) -> int:
    """Return the blocks per plane that hold no data, however large it is: its pool and its open blocks."""
    ftl = page_ftl(device.ftl)
    return max(FLOOR_BLOCKS, ftl.gc.free_blocks or 0, ftl.gc.barrier_blocks or 0) + ftl.streams


def check_reachable(device: DeviceConfig, thresholds: Thresholds) -> None:
    """Refuse a device whose GC could not reach its threshold once it is full."""
    planes = device.geometry.planes
    most = math.ceil(device.logical_pages / planes)
    fits = device.logical_pages < planes * thresholds.valid_limit
    if device.ftl.allocation == "static":
        fits = most <= thresholds.valid_limit
    if not fits:
        raise SsdgymError(
            f"device {device.name}: the GC threshold (field ftl.gc) cannot be reached once the device "
            f"is full: a plane then holds {most} valid pages, and with the threshold and "
            f"{page_ftl(device.ftl).streams} open blocks it has room for {max(thresholds.valid_limit, 0)}; "
            "lower the threshold or raise over_provisioning."
        )


def params_record(device: DeviceConfig, seed: int) -> np.ndarray:
    """The device's constants as the engine reads them, shape (1,) PARAMS."""
    thresholds = thresholds_of(device)
    check_reachable(device, thresholds)
    _check_times(device)
    geometry, ftl = device.usable, page_ftl(device.ftl)
    record = np.zeros(1, PARAMS)
    values: dict[str, int] = {
        "seed": seed % 2**64,
        "logical_pages": device.logical_pages,
        "channels": geometry.channels,
        "dies": geometry.dies,
        "leaf_bits": _leaf_bits(device),
        "planes": geometry.planes,
        "planes_per_die": geometry.planes_per_die,
        "blocks": geometry.blocks_per_plane,
        "sub_blocks": geometry.sub_blocks_per_block,
        "pages_per_block": geometry.pages_per_block,
        "pages_per_sub_block": geometry.pages_per_block // geometry.sub_blocks_per_block,
        "streams": ftl.streams,
        "gc_stream": ftl.streams - 1,
        "relocation_streams": 1,
        **vars(thresholds),
        "read_ns": device.timing.read_ns,
        "program_ns": device.timing.program_ns,
        "erase_ns": device.timing.erase_ns,
        "transfer_ns": device.transfer_ns,
        "slow_ns": device.timing.program_ns + device.timing.erase_ns,
        "queue_depth": ftl.queue_depth,
        "window_pages": _window(device),
        "allocation": _ALLOCATIONS[ftl.allocation],
        "multi_plane": _MULTI_PLANE[device.multi_plane],
        "multi_plane_writes": ftl.multi_plane_writes,
        "copyback": ftl.gc.copyback,
        "erase_unit": _ERASE_UNITS[device.erase_unit],
        "isolation": _ISOLATIONS[device.isolation],
        "disturbs": device.erase_disturbs,
        "must_gain": ftl.gc.mode == "barrier" or ftl.gc.background_fraction is not None,
        "placement": _PLACEMENTS[ftl.placement],
        **table_fields(device),
        "reads_first": ftl.gc.priority == "after_reads",
        "timed": ftl.timing == "event",
    }
    for name, value in values.items():
        record[name] = value
    return record


def _window(device: DeviceConfig) -> int:
    return device.ftl.window_pages if device.ftl.timing == "event" else 1


def _leaf_bits(device: DeviceConfig) -> int:
    """Bits to number the resources that have events: channels and dies."""
    return (device.geometry.channels + device.geometry.dies - 1).bit_length()


def _check_times(device: DeviceConfig) -> None:
    """Refuse commands so long that the time at which one ends could not be counted."""
    timing = device.timing
    waiting = math.ceil(device.geometry.dies / device.geometry.channels) * 2 * device.transfer_ns
    waiting *= device.geometry.planes_per_die  # of which all may take part in a command
    longest = timing.read_ns + timing.program_ns + timing.erase_ns + waiting
    most = 1 << (62 - _leaf_bits(device))
    if longest >= most:
        raise SsdgymError(
            f"device {device.name}: a command may take {longest:.3g} ns, waiting for its channel included, "
            f"and only times below {most:.3g} ns can be counted; shorten the times (field timing)."
        )


def _too_large(sizes: Sizes) -> str:
    """What to make smaller; the table of hotness only where it has more words than there are pages."""
    table = "ftl.hotness.counters, " if sizes["hotness"] > sizes["pages"] else ""
    return (
        f"this machine has not as much memory; make the geometry, {table}ftl.window_pages, the latencies "
        "recorded or the number of devices smaller"
    )


def _allocate(devices: Sequence[DeviceConfig], sizes: Sizes) -> State:
    """Zeroed arrays, unless they are more than the machine has memory for."""
    names = ", ".join(dict.fromkeys(device.name for device in devices))
    try:
        state = PAGE.arrays.allocate(len(devices), sizes)
    except (MemoryError, ValueError):  # numpy's for more bytes than can be had, or than can be numbered
        raise SsdgymError(f"device {names}: {_too_large(sizes)}.") from None
    needed = sum(array.nbytes for array in state)
    # Memory that is only promised is refused here; meeting its absence later would end the process.
    if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise SsdgymError(f"device {names}: needs {needed / 2**30:.1f} GiB of memory; {_too_large(sizes)}.")
    return state


def make_state(devices: Sequence[DeviceConfig], seeds: Sequence[int], recording: Recording) -> State:
    """Empty devices in one batch, padded to the largest."""

    def largest(size: str) -> int:
        return max(getattr(device.usable, size) for device in devices)

    tables = [table_sizes(device) for device in devices]

    state = _allocate(
        devices,
        dict(
            logical_pages=max(device.logical_pages for device in devices),
            pages=largest("physical_pages"),
            sub_blocks=max(
                d.geometry.planes * d.geometry.blocks_per_plane * d.geometry.sub_blocks_per_block
                for d in devices
            ),
            blocks=max(d.geometry.planes * d.geometry.blocks_per_plane for d in devices),
            planes=largest("planes"),
            round_pairs=largest("planes") * MAX_PAIRS,
            open_sub_blocks=largest("planes") * MAX_STREAMS,
            buckets=max(d.usable.planes * (d.usable.pages_per_block + 1) for d in devices),
            **{name: max(1, *(sizes[name] for sizes in tables)) for name in tables[0]},
            **dict.fromkeys(("page_memory", "block_memory", "stream_memory", "memory"), 64),
            dies=largest("dies"),
            channels=largest("channels"),
            events=2 << max(map(_leaf_bits, devices)),
            window=max(map(_window, devices)),
            latencies=recording.latencies,
            bins=BINS if any(device.ftl.timing == "event" for device in devices) else 1,
            tail=recording.slowest + 1,
        ),
    )
    for i, (device, seed) in enumerate(zip(devices, seeds, strict=True)):
        state.params[i] = params_record(device, seed)
        format_device(state, i)
    return state
