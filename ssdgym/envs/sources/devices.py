"""The devices of an environment, as they are named or as small as a trace needs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.config.ftl import FtlConfig
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for
from ssdgym.simulator.families import family_of
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.stream import check_addresses, footprint_pages
from ssdgym.workloads.traces.recorded import PlayedConfig

Ftl = FtlConfig | dict[str, Any] | None


def load_devices(
    source: Any, ftl: Ftl, workloads: Sequence[WorkloadConfig], size_to_trace: bool
) -> list[DeviceConfig]:
    """Return the devices that an environment names.

    Args:
        source: a device, or several in a list.
        ftl: FTL fields to change.
        workloads: that they are to carry out.
        size_to_trace: make them as small as holds every trace with compact addresses.

    Raises:
        SsdgymError: there is no such device, or it does not fit.
    """
    sources = source if isinstance(source, (list, tuple)) else [source]
    if not sources:
        raise SsdgymError("device names none; give at least one.")
    if not size_to_trace:
        devices = [device_for(one, ftl) for one in sources]
        for device, workload in product(devices, workloads):
            check_addresses(workload, device)
        return devices
    traces = [workload for workload in workloads if is_sizing(workload)]
    if not traces:
        raise SsdgymError(
            "size_to_trace needs a trace with compact addresses among the workloads; leave it out."
        )
    return [device_for(sized_to_traces(one, traces, ftl=ftl), ftl) for one in sources]


def is_sizing(workload: WorkloadConfig) -> bool:
    """Return whether a device may be given the size of a workload: that of a trace with compact addresses."""
    return isinstance(workload, PlayedConfig) and workload.addresses == "compact"


def sized_to_traces(
    device: Any,
    traces: Sequence[Any],
    *,
    ftl: Ftl = None,
    policy: str | Policy | None = None,
    seed: int = 0,
    advice: str = "leave out size_to_trace",
) -> DeviceConfig:
    """Return a device as small as holds what each of some traces touches, at its own over-provisioning.

    Args:
        device: by name, path, mapping or model.
        traces: with compact addresses, at least one.
        ftl: FTL fields that will be changed.
        policy: that will run it; `None` for decisions that are taken outside.
        seed: of synthetic traces.
        advice: what to do where there is no such device.

    Returns:
        The device without the changes that `ftl` and the policy make.

    Raises:
        SsdgymError: no device of its kind holds them.
    """
    model = load_device(device)
    whole = device_for(model, ftl, policy)  # what is wrong whatever the size is said first
    for trace in traces:
        check_addresses(trace, whole)
    pages, label = max((footprint_pages(t, model.host_unit_bytes, seed), t.label) for t in traces)
    # On a small device the blocks that it keeps free or open are more than its over-provisioning.
    reason = ""
    for more_blocks in range(family_of(whole).whole_blocks_kept(whole) + 2):
        try:
            sized = model.sized_to(pages, more_blocks)
            shrunk = device_for(sized, ftl, policy)
        except SsdgymError as error:
            reason = reason or str(error).removesuffix(".")
            continue
        with suppress(SsdgymError):
            family_of(shrunk).check(shrunk)
            return sized
    if reason:
        raise SsdgymError(f"{label}: the trace touches {pages} pages, and {reason}; {advice}.")
    raise SsdgymError(
        f"{label}: the trace touches {pages} pages, and the device {model.name} shrunk to them has "
        f"no room for its GC threshold; {advice}, or set another threshold."
    )
