"""Memory that rules declare, and what the device says for their benefits and counters."""

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import MemoryBytes
from ssdgym.config.page import PageFtl
from ssdgym.engine.core.handle import MEMORY_FIELDS
from ssdgym.errors import SsdgymError

#: The engine's array of each part of a rule's memory.
ARRAYS = {part: array for array, part in MEMORY_FIELDS.items()}
#: The memory of a rule, and that of a device in a batch, begins at multiples of so many bytes.
_ALIGNED = 64


def _bytes_of(device: DeviceConfig, rule: MemoryBytes) -> dict[str, int]:
    """Return the bytes of a rule's records, by part."""
    geometry = device.usable
    counts = {
        "page": device.logical_pages,
        "block": geometry.planes * geometry.blocks_per_plane,
        "stream": geometry.planes * PageFtl.of(device.ftl).streams,
        "device": 1,
        "table": 1,
    }
    return {part: getattr(rule, part) * count for part, count in counts.items()}


def _segments(device: DeviceConfig, rule: MemoryBytes) -> dict[str, int]:
    """Return the room for a rule's records, by part."""
    return {part: -(-size // _ALIGNED) * _ALIGNED for part, size in _bytes_of(device, rule).items()}


def memory_at(device: DeviceConfig) -> list[list[int]]:
    """Return the bytes at which the memory of each rule begins, as the field of PARAMS has it."""
    needs, starts = PageFtl.of(device.ftl).needs, [[0] * len(ARRAYS)]
    for rule in _kept(device)[:-1]:
        sizes = _segments(device, rule)
        starts.append([start + sizes[part] for start, part in zip(starts[-1], ARRAYS, strict=True)])
    return [starts[1] if needs.shared else starts[0], *starts[1:]]


def _kept(device: DeviceConfig) -> list[MemoryBytes]:
    """Return what each rule keeps, in the order in which their memory lies."""
    needs = PageFtl.of(device.ftl).needs
    return [needs.victim, needs.place, needs.idle, needs.wear]


def memory_sizes(device: DeviceConfig) -> dict[str, int]:
    """Return the lengths of the engine's arrays for the memory of rules, in bytes; never 0."""
    segments = [_segments(device, rule) for rule in _kept(device)]
    return {array: max(sum(own[part] for own in segments), _ALIGNED) for part, array in ARRAYS.items()}


def memory_bytes(device: DeviceConfig) -> int:
    """Return the bytes of all records that rules keep."""
    return sum(sum(_bytes_of(device, rule).values()) for rule in _kept(device))


def controller_bytes(device: DeviceConfig) -> int:
    """Return the bytes that a controller would need for what rules keep."""
    kept = ((rule.controller, sum(_bytes_of(device, rule).values())) for rule in _kept(device))
    return sum(own if stated is None else stated for stated, own in kept)


#: Sums of a benefit's cross-products have to stay below this.
_LARGEST_PRODUCT = 2**61


def constants_of(device: DeviceConfig) -> dict[str, int]:
    """Return the costs in benefits, and the constants of rules that count how hot pages are."""
    hotness = PageFtl.of(device.ftl).hotness
    timing, pages = device.timing, device.usable.pages_per_block
    transfers = 0 if PageFtl.of(device.ftl).gc.copyback else 2 * device.transfer_ns
    copy = timing.read_ns + timing.program_ns + transfers
    if copy == 0 and timing.erase_ns == 0:
        copy_cost, erase_cost = 1, pages // device.usable.sub_blocks_per_block
    else:
        erase = max(timing.erase_ns, 1)
        if device.erase_unit != "block" and pages * (2 * pages * copy + erase) >= _LARGEST_PRODUCT:
            raise SsdgymError(
                f"device {device.name}: to relocate and erase a block of {pages} pages takes too long for "
                "benefits to be compared; shorten the times (field timing) or the blocks (field "
                "geometry.pages_per_block)."
            )
        copy_cost, erase_cost = copy, erase
    return {
        "copy_cost": copy_cost,
        "erase_cost": erase_cost,
        "hashes": hotness.hashes,
        "counters": hotness.counters_of(device.logical_pages),
        "decay_period": hotness.period_of(device.logical_pages),
        "group_of_degree": _group_of_degree(hotness.thresholds),
    }


def _group_of_degree(thresholds: tuple[int, ...]) -> int:
    """Return the hotness group, counted from 1, of each degree 0..15; 4 bits each, 0 = cold."""
    groups = (sum(threshold <= degree for threshold in thresholds) for degree in range(16))
    return sum(group << (4 * degree) for degree, group in enumerate(groups))
