"""Make the devices of a batch; copy and restore devices."""

from __future__ import annotations

import functools
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.fields import is_whole
from ssdgym.engine.core.family import Sizes, State
from ssdgym.engine.core.records import PARAMS
from ssdgym.engine.entries import format_device
from ssdgym.engine.time.transactions import BINS
from ssdgym.errors import SsdgymError, shown
from ssdgym.simulator.cells import begin_life, cell_fields
from ssdgym.simulator.families import (  # noqa: F401  their builders register
    FamilyBuilder,
    block,
    family_of,
    family_of_state,
    page,
    sub_blocks_of,
    subpage,
)

_MOST_RECORDED = 2**40


@dataclass(frozen=True)
class Recording:
    """How many latencies a device stores one by one.

    Attributes:
        latencies: number of requests, the first after each reset, whose latencies are stored.
        slowest: number of the slowest reads, and of the slowest writes, whose latencies are also stored.
    """

    latencies: int = 1 << 20
    slowest: int = 1 << 14

    def __post_init__(self) -> None:
        """Check the counts."""
        for name, count in vars(self).items():
            if not is_whole(count) or not 0 <= count <= _MOST_RECORDED:
                raise SsdgymError(
                    f"Recording: {name} must be a whole number from 0 to 2**40, not {shown(count)}."
                )


def params_record(device: DeviceConfig, seed: int) -> np.ndarray:
    """Return the constants of a device for the engine, (1,) PARAMS; raise if it could not run when full."""
    family = family_of(device)
    family.check(device)
    _check_times(device)
    geometry, ftl = device.usable, device.ftl
    record = np.zeros(1, PARAMS)
    values: dict[str, Any] = {
        "seed": seed,
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
        "read_ns": device.timing.read_ns,
        "program_ns": device.timing.program_ns,
        "erase_ns": device.timing.erase_ns,
        "transfer_ns": device.transfer_ns,
        "least_invalid": 1,
        "slow_ns": device.timing.program_ns + device.timing.erase_ns,
        "queue_depth": ftl.queue_depth,
        "window_pages": _window(device),
        "multi_plane": device.multi_plane.code,
        "erase_unit": device.erase_unit.code,
        "isolation": device.isolation.code,
        "timed": ftl.timing.code,
        **cell_fields(device),
        **family.params(device),
    }
    for name, value in values.items():
        record[name] = value
    return record


def _window(device: DeviceConfig) -> int:
    return device.ftl.window_pages if device.ftl.timing == "event" else 1


def _leaf_bits(device: DeviceConfig) -> int:
    """Return the number of bits that suffice to number all channels and dies."""
    return (device.geometry.channels + device.geometry.dies - 1).bit_length()


def _check_times(device: DeviceConfig) -> None:
    """Raise if commands are so long that their end times would overflow."""
    timing, pages = device.timing, family_of(device).pages_of_command(device)
    waiting = math.ceil(device.geometry.dies / device.geometry.channels) * (pages + 1) * device.transfer_ns
    waiting *= device.geometry.planes_per_die  # all planes of a die may take part in a command
    programs = max(timing.program_ns, timing.subpage_program_ns)
    longest = pages * timing.read_ns + programs + timing.erase_ns + waiting
    most = 1 << (62 - _leaf_bits(device))
    if longest >= most:
        raise SsdgymError(
            f"device {device.name}: a command may take {longest:.3g} ns, waiting for its channel included, "
            f"and only times below {most:.3g} ns can be counted; shorten the times (field timing)."
        )


def _sizes(device: DeviceConfig, recording: Recording) -> dict[str, int]:
    """Return the lengths of a device's arrays, by name: arrays of all families and of its own family."""
    geometry = device.usable
    return {
        "logical_pages": device.logical_pages,
        "pages": geometry.physical_pages,
        "blocks": geometry.planes * geometry.blocks_per_plane,
        "sub_blocks": sub_blocks_of(device),
        "planes": geometry.planes,
        "dies": geometry.dies,
        "channels": geometry.channels,
        "events": 2 << _leaf_bits(device),
        "window": _window(device),
        "latencies": recording.latencies,
        "bins": BINS if device.ftl.timing == "event" else 1,
        "tail": recording.slowest + 1,
        "endurances": 0 if device.cells is None else sub_blocks_of(device),
        **family_of(device).sizes(device),
    }


def _allocate(family: FamilyBuilder, devices: Sequence[DeviceConfig], sizes: Sizes) -> State:
    """Return arrays of zeros; raise if the machine lacks the memory."""
    names = ", ".join(dict.fromkeys(device.name for device in devices))
    # The error names the hotness table only if it is much larger than the arrays by page.
    table = "ftl.hotness.counters, " if sizes.get("table", 0) > 8 * sizes["pages"] else ""
    too_large = (
        f"this machine has not as much memory; make the geometry, {table}ftl.window_pages, the latencies "
        "recorded or the number of devices smaller."
    )
    try:
        state = family.engine.arrays.allocate(len(devices), sizes)
    except (MemoryError, ValueError):  # raised by numpy for too many bytes
        raise SsdgymError(f"device {names}: {too_large}") from None
    needed = sum(array.nbytes for array in state)
    # The system may allocate memory that it does not have, and end the process when the memory is used.
    if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise SsdgymError(f"device {names}: needs {needed / 2**30:.1f} GiB of memory; {too_large}")
    return state


def make_state(devices: Sequence[DeviceConfig], seeds: Sequence[int], recording: Recording) -> State:
    """Make empty devices of one family in one batch. The arrays have the sizes that the largest needs."""
    mappings = dict.fromkeys(device.ftl.mapping for device in devices)
    if len(mappings) > 1:
        raise SsdgymError(
            f"devices of the mappings {', '.join(mappings)} cannot share a batch; make one for each family."
        )
    family = family_of(devices[0])
    each = [_sizes(device, recording) for device in devices]
    sizes = {name: max(1, *(sizes[name] for sizes in each)) for name in each[0]}
    state = _allocate(family, devices, sizes)
    for i, (device, seed) in enumerate(zip(devices, seeds, strict=True)):
        state.params[i] = params_record(device, seed)
        for array, values in family.constants(device).items():
            for name, value in values.items():
                getattr(state, array)[name][i] = value
        format_device(state, i)
        begin_life(state, i, device)
    return state


#: The text of a dtype, cached because numpy takes long to write it.
_name = functools.cache(str)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A saved state of a device and its input.

    The arrays are for reading. A snapshot that has been changed or damaged, also in a file, cannot be
    restored, because the engine uses the values in the arrays without checks.

    Attributes:
        state: the device, a batch of one.
        requests: the input of the device, an array of REQUEST.
        checksum: checksum of all arrays except the latencies, computed when the snapshot is made.
    """

    state: State
    requests: np.ndarray
    checksum: int = field(init=False)

    def __post_init__(self) -> None:
        """Compute the checksum, which copies and pickles retain."""
        object.__setattr__(self, "checksum", self._sum())

    def _sum(self) -> int:
        """Return the checksum of the present arrays."""
        checksum = 0
        # Latencies are left out: no decision depends on them, and there may be a million.
        for array in (*self.state._replace(latency=self.requests), self.requests):
            described = f"{_name(array.dtype)}{array.shape}".encode()
            checksum = zlib.crc32(content(np.ascontiguousarray(array)), zlib.crc32(described, checksum))
        return checksum


def copy_device(state: State, i: int) -> State:
    """Return an independent copy of device `i`, as a batch of one."""
    # Copied as bytes, because numpy copies records with padding slowly, field by field.
    return type(state)(*(array[i : i + 1].view(np.uint8).copy().view(array.dtype) for array in state))


def restore_device(state: State, i: int, saved: State) -> None:
    """Overwrite device `i` with a saved device, a batch of one whose arrays have the same lengths."""
    for array, source in zip(state, saved, strict=True):
        array[i].view(np.uint8)[...] = source[0].view(np.uint8)


def content(array: np.ndarray, without: str = "") -> bytes:
    """Return the values of an array as bytes: of records, one field after the other, except `without`.

    The padding between fields is left out: numpy does not copy it, so equal records may differ in it.
    """
    if array.dtype.names is None:
        return array.tobytes()
    return b"".join(array[name].tobytes() for name in array.dtype.names if name != without)


def fits(saved: State, state: State) -> bool:
    """Return whether a saved device has the configuration of device `state`, except for the seed."""
    fixed = family_of_state(state).fixed
    return all(a.shape == b.shape for a, b in zip(saved, state, strict=True)) and all(
        content(getattr(saved, array), "seed") == content(getattr(state, array), "seed") for array in fixed
    )


def check_snapshot(snapshot: Any, state: State, name: str) -> None:
    """Raise if a snapshot is damaged, or is not of the device in `state`, a batch of one called `name`."""
    if not isinstance(snapshot, Snapshot) or snapshot.checksum != snapshot._sum():
        raise SsdgymError(
            f"device {name}: the snapshot is damaged or has been changed; restore one that is as snapshot() "
            "returned it."
        )
    if not fits(snapshot.state, state):
        raise SsdgymError(
            f"device {name}: the snapshot is of another device, or of one that records another number of "
            "latencies; restore it to a Simulator made as that one was."
        )
