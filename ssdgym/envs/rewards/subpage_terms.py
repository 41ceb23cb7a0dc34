"""The reward terms of the sub-page family, whose devices count programs of pages and of parts of them."""

from __future__ import annotations

from ssdgym.config.device import DeviceConfig
from ssdgym.envs.rewards.terms import reward_term


@reward_term("flash_time", "nominal time of all commands of the flash, in page programs")
def _flash_time(device: DeviceConfig) -> dict[str, float]:
    timing, page_ns = device.timing, device.transfer_ns
    part_ns = round(timing.transfer_ns_per_byte * device.host_unit_bytes)
    unit = max(timing.program_ns, 1)
    return {
        "full_programs": (timing.program_ns + page_ns) / unit,
        "subpage_programs": ((timing.subpage_program_ns or timing.program_ns) + part_ns) / unit,
        "flash_reads": (timing.read_ns + page_ns) / unit,
        # What is read to be programmed in the region is no whole page on the channel.
        "advances": (part_ns - page_ns) / unit,
        "region_moves": (part_ns - page_ns) / unit,
        "erases": timing.erase_ns / unit,
    }


@reward_term("amplification", "bytes programmed beyond those that the host has written, in pages of flash")
def _amplification(device: DeviceConfig) -> dict[str, float]:
    part = 1 / device.units_per_page
    return {"full_programs": 1.0, "subpage_programs": part, "host_pages_written": -part}


@reward_term(
    "small_writes", "bytes programmed for writes that leave the buffer as less than a page, in pages of flash"
)
def _small_writes(device: DeviceConfig) -> dict[str, float]:
    return {"small_flash_bytes": 1 / device.geometry.page_size_bytes}
