"""Open any workload as a stream of requests."""

from __future__ import annotations

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads.base import RequestStream, WorkloadConfig
from ssdgym.workloads.records.played import PlayedConfig


def open_workload(config: WorkloadConfig, *, logical_pages: int, page_size: int, seed: int) -> RequestStream:
    """Start a workload from its first request.

    Args:
        config: the workload.
        logical_pages: size of the logical space; every request lies within it.
        page_size: bytes per page; matters to workloads given in bytes, such as traces and small writes.
        seed: not negative; the same seed gives the same requests. Of a trace it draws a random start only.

    Raises:
        SsdgymError: the workload does not fit the device, its trace cannot be read, or the seed is no seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SsdgymError(f"the seed of a workload must be a whole number from 0 up, not {seed!r:.60}.")
    return config.open(logical_pages, page_size, int(seed))


def open_on(config: WorkloadConfig, device: DeviceConfig, seed: int) -> RequestStream:
    """Start a workload on a device from its first request.

    Args:
        config: the workload.
        device: that carries it out.
        seed: as in `open_workload`.

    Raises:
        SsdgymError: as `open_workload`, and as `check_addresses`.
    """
    check_addresses(config, device)
    return open_workload(
        config, logical_pages=device.logical_pages, page_size=device.host_unit_bytes, seed=seed
    )


def check_addresses(config: WorkloadConfig, device: DeviceConfig) -> None:
    """Raise if a device maps whole blocks, and a workload lays pages together that lie apart.

    Args:
        config: the workload; the parts that it is made of count.
        device: that is to carry it out.

    Raises:
        SsdgymError: the workload has compact addresses, and the FTL of the device keeps addresses.
    """
    if not device.ftl.keeps_addresses:
        return
    for part in config.parts():
        check_addresses(part, device)
    if isinstance(config, PlayedConfig) and config.addresses == "compact":
        raise SsdgymError(
            f"device {device.name}: an FTL of mapping {device.ftl.mapping} maps whole blocks, which compact "
            f"addresses would make of pages from all over {config.label}; set addresses to fold, and for a "
            "small device use the transform scale_space."
        )


def footprint_pages(config: PlayedConfig, page_size: int, seed: int = 0) -> int:
    """Return how many different pages a trace or a synthetic trace touches, a window or not.

    A device of that many logical pages holds it with `addresses: compact`.

    Args:
        config: the workload.
        page_size: bytes per page.
        seed: of a synthetic trace.

    Raises:
        SsdgymError: the trace cannot be read.
    """
    return config.touched_pages(page_size, seed)
