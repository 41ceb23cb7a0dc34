"""The reward terms of the block family, whose devices count what merges take and destroy."""

from __future__ import annotations

from ssdgym.config.device import DeviceConfig
from ssdgym.envs.rewards.terms import reward_term

_TIMES = ("gc_spare_ns", "gc_read_ns", "gc_write_ns", "gc_erase_ns")


@reward_term("merge_time", "nominal time of all commands of merges, in page programs")
def _merge_time(device: DeviceConfig) -> dict[str, float]:
    return dict.fromkeys(_TIMES, 1 / max(device.timing.program_ns, 1))


@reward_term("spoiled", "valid pages that erases beside them have destroyed")
def _spoiled(device: DeviceConfig) -> dict[str, float]:
    return {"spoiled_pages": 1.0}
