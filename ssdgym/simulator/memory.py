"""Memory of rules: where the records of each rule lie in the arrays of a device."""

from __future__ import annotations

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import MemoryBytes, page_ftl

#: The engine's array of each part of a rule's memory.
ARRAYS = {"page": "page_memory", "block": "block_memory", "stream": "stream_memory", "device": "memory"}
#: The memory of a rule, and that of a device in a batch, begins at multiples of so many bytes.
_ALIGNED = 64


def _bytes_of(device: DeviceConfig, rule: MemoryBytes) -> dict[str, int]:
    """Return the bytes of a rule's records, by part."""
    geometry = device.usable
    counts = {
        "page": device.logical_pages,
        "block": geometry.planes * geometry.blocks_per_plane,
        "stream": geometry.planes * page_ftl(device.ftl).streams,
        "device": 1,
    }
    return {part: getattr(rule, part) * count for part, count in counts.items()}


def _segments(device: DeviceConfig, rule: MemoryBytes) -> dict[str, int]:
    """Return the room for a rule's records, by part."""
    return {part: -(-size // _ALIGNED) * _ALIGNED for part, size in _bytes_of(device, rule).items()}


def memory_fields(device: DeviceConfig) -> dict[str, int]:
    """Return where each rule's memory begins, by the fields of PARAMS: victim rule, placement, idle rule."""
    needs = page_ftl(device.ftl).needs
    place = _segments(device, needs.victim)
    victim = place if needs.shared else dict.fromkeys(place, 0)
    idle = {part: place[part] + size for part, size in _segments(device, needs.place).items()}
    return {
        **{f"victim_{part}": start for part, start in victim.items()},
        **{f"place_{part}": start for part, start in place.items()},
        **{f"idle_{part}": start for part, start in idle.items()},
    }


def memory_sizes(device: DeviceConfig) -> dict[str, int]:
    """Return the lengths of the engine's arrays for the memory of rules, in bytes; never 0."""
    needs = page_ftl(device.ftl).needs
    segments = [_segments(device, rule) for rule in (needs.victim, needs.place, needs.idle)]
    return {array: max(sum(own[part] for own in segments), _ALIGNED) for part, array in ARRAYS.items()}


def memory_bytes(device: DeviceConfig) -> int:
    """Return the bytes of all records that rules keep."""
    needs = page_ftl(device.ftl).needs
    return sum(sum(_bytes_of(device, rule).values()) for rule in (needs.victim, needs.place, needs.idle))
