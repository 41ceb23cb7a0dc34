"""Memory that rules declare, and tables that the engine keeps for them."""

from __future__ import annotations

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import MemoryBytes
from ssdgym.config.gc import MAX_DEGREE
from ssdgym.config.page import SUB_BLOCK_PLACEMENTS, PageFtl
from ssdgym.engine.core.family import State
from ssdgym.engine.speedupgc.best_sets import PER_WORD, WRITABLE_BEST
from ssdgym.engine.speedupgc.groups import words_of
from ssdgym.errors import SsdgymError

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
        "stream": geometry.planes * PageFtl.of(device.ftl).streams,
        "device": 1,
    }
    return {part: getattr(rule, part) * count for part, count in counts.items()}


def _segments(device: DeviceConfig, rule: MemoryBytes) -> dict[str, int]:
    """Return the room for a rule's records, by part."""
    return {part: -(-size // _ALIGNED) * _ALIGNED for part, size in _bytes_of(device, rule).items()}


def memory_fields(device: DeviceConfig) -> dict[str, int]:
    """Return where the memory of each rule begins, by the fields of PARAMS."""
    needs = PageFtl.of(device.ftl).needs
    place = _segments(device, needs.victim)
    victim = place if needs.shared else dict.fromkeys(place, 0)
    idle = {part: place[part] + size for part, size in _segments(device, needs.place).items()}
    wear = {part: idle[part] + size for part, size in _segments(device, needs.idle).items()}
    return {
        **{f"victim_{part}": start for part, start in victim.items()},
        **{f"place_{part}": start for part, start in place.items()},
        **{f"idle_{part}": start for part, start in idle.items()},
        **{f"wear_{part}": start for part, start in wear.items()},
    }


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


# Sizes of the tables of best sets, block groups and hotness: in the engine's arrays, and in bytes.
#
# The engine's arrays are made for speed: a block's rank is kept three times over, and its best set as a
# mask of 64 bits. What a controller would need is counted by itself, from the widths of the fields.

#: Bits of a counter of the hotness table.
_COUNTER_BITS = MAX_DEGREE.bit_length()
#: Blocks that a bit stands for which says that one of them can be written to.
_SUMMARIZED = 64
#: Sums of a benefit's cross-products have to stay below this.
_LARGEST_PRODUCT = 2**61


def _leaves(device: DeviceConfig) -> int:
    """Return the leaves of a plane's trees of best sets, a power of two.

    None are needed where only whole blocks are erased, and where block groups ranked by benefit keep the best
    set.
    """
    if device.erase_unit == "block" or (_groups(device) and device.isolation != "hardware"):
        return 0
    return int(1 << (device.usable.blocks_per_plane - 1).bit_length())


def _groups(device: DeviceConfig) -> int:
    return (
        PageFtl.of(device.ftl).hotness.groups if PageFtl.of(device.ftl).placement == "hotness_groups" else 0
    )


def _trees(device: DeviceConfig) -> int:
    """Return the trees of a plane: of the next victims, and of the blocks that can be written to."""
    if not _leaves(device):
        return 0
    return 2 if PageFtl.of(device.ftl).placement == "hot_to_victims" else 1


def group_limit(device: DeviceConfig) -> int:
    """Return the most blocks of a group; 0 without groups."""
    return (
        PageFtl.of(device.ftl).hotness.group_limit(device.usable.blocks_per_plane) if _groups(device) else 0
    )


def _hashes(device: DeviceConfig) -> int:
    by_hotness = PageFtl.of(device.ftl).placement in ("hot_cold", "hot_to_victims", "hotness_groups")
    return PageFtl.of(device.ftl).hotness.hashes if by_hotness else 0


def table_fields(device: DeviceConfig) -> dict[str, int]:
    """Return the parameters of the engine that these tables need."""
    hotness = PageFtl.of(device.ftl).hotness
    copy_cost, erase_cost = _costs(device)
    return {
        "copy_cost": copy_cost,
        "erase_cost": erase_cost,
        "tree_leaves": _leaves(device),
        "groups": _groups(device),
        "group_limit": group_limit(device),
        "hashes": _hashes(device),
        "counters": hotness.counters_of(device.logical_pages),
        "decay_period": hotness.period_of(device.logical_pages),
        "group_of_degree": _group_of_degree(hotness.thresholds),
    }


def _costs(device: DeviceConfig) -> tuple[int, int]:
    """Return what a move and an erase cost in a benefit: times, or pages where the device has none."""
    timing, pages = device.timing, device.usable.pages_per_block
    transfers = 0 if PageFtl.of(device.ftl).gc.copyback else 2 * device.transfer_ns
    copy = timing.read_ns + timing.program_ns + transfers
    if copy == 0 and timing.erase_ns == 0:
        return 1, pages // device.usable.sub_blocks_per_block
    erase = max(timing.erase_ns, 1)
    if device.erase_unit != "block" and pages * (2 * pages * copy + erase) >= _LARGEST_PRODUCT:
        raise SsdgymError(
            f"device {device.name}: to relocate and erase a block of {pages} pages takes too long for "
            "benefits to be compared; shorten the times (field timing) or the blocks (field "
            "geometry.pages_per_block)."
        )
    return copy, erase


def _group_of_degree(thresholds: tuple[int, ...]) -> int:
    """Return the hotness group, counted from 1, of each degree 0..15; 4 bits each, 0 = cold."""
    groups = (sum(threshold <= degree for threshold in thresholds) for degree in range(16))
    return sum(group << (4 * degree) for degree, group in enumerate(groups))


def table_sizes(device: DeviceConfig) -> dict[str, int]:
    """Return the lengths of the arrays of these tables, 0 for those that the device does not have."""
    geometry, leaves, groups = device.usable, _leaves(device), _groups(device)
    all_groups = geometry.planes * groups
    counters = _hashes(device) * PageFtl.of(device.ftl).hotness.counters_of(device.logical_pages)
    return {
        "best": geometry.planes * geometry.blocks_per_plane if leaves or groups else 0,
        "tree": geometry.planes * leaves * 2 * _trees(device),
        "groups": all_groups,
        "heap": all_groups * 2 * (group_limit(device) + 1),
        "group_bits": all_groups * 2 * sum(words_of(geometry.blocks_per_plane)),
        "hotness": -(-counters // PER_WORD),
    }


def table_bytes(device: DeviceConfig, state: State) -> int:
    """Return the bytes of a device's tables in a batch."""
    sizes = table_sizes(device)
    arrays = {"groups": "group_size"}
    return sum(size * getattr(state, arrays.get(name, name)).itemsize for name, size in sizes.items())


def controller_table_bytes(device: DeviceConfig) -> int:
    """Return the bytes that a controller would need for a device's tables, by the widths of their fields.

    For every block: its best set, the invalid pages of the set, the valid pages to move, its group, and
    whether it can be written to. For every group: its size; a heap of the numbers of its blocks with the
    smallest rank on top, with the place of every block; and two bits for every block of the plane,
    with one over each 64 of them. The largest rank of a group is found by a scan. Without groups: the winners
    of the plane's trees. And the counters of hotness. Records take whole bytes; ranks are worked out where
    they are compared.
    """
    counters = _hashes(device) * PageFtl.of(device.ftl).hotness.counters_of(device.logical_pages)
    tables = _best_set_bytes(device) + _group_bytes(device) + _tree_bytes(device)
    return tables + _bytes(counters, _COUNTER_BITS)


def _best_set_bytes(device: DeviceConfig) -> int:
    """Return the bytes of the best sets of all blocks."""
    geometry, groups = device.usable, _groups(device)
    if not (_leaves(device) or groups):
        return 0
    runs = device.erase_unit == "sub_block_run"
    best_set = 2 * _bits(geometry.sub_blocks_per_block - 1) if runs else geometry.sub_blocks_per_block
    pages = 2 * _bits(geometry.pages_per_block)
    group = _bits(groups - 1) if groups else 0
    places = PageFtl.of(device.ftl).placement in SUB_BLOCK_PLACEMENTS
    writable = _bits(WRITABLE_BEST) if places else 0
    return geometry.planes * geometry.blocks_per_plane * _bytes(1, best_set + pages + group + writable)


def _group_bytes(device: DeviceConfig) -> int:
    """Return the bytes of the sizes, heaps and bits of all groups."""
    if not _groups(device):
        return 0
    geometry, limit = device.usable, group_limit(device)
    blocks = geometry.blocks_per_plane
    of_a_block = _bytes(1, _bits(blocks - 1)) + _bytes(1, _bits(limit))  # in a heap, and its place there
    bits = 2 * (blocks + -(-blocks // _SUMMARIZED))
    of_a_group = _bytes(1, _bits(limit)) + _bytes(bits, 1)
    return geometry.planes * (blocks * of_a_block + _groups(device) * of_a_group)


def _tree_bytes(device: DeviceConfig) -> int:
    """Return the bytes of the winners of all trees, one fewer than blocks in each."""
    blocks = device.usable.blocks_per_plane
    return device.usable.planes * _trees(device) * (blocks - 1) * _bytes(1, _bits(blocks - 1))


def _bits(largest: int) -> int:
    """Return the bits of a field with values from 0 to the largest."""
    return max(largest.bit_length(), 1)


def _bytes(count: int, bits: int) -> int:
    """Return the whole bytes of so many fields without a gap."""
    return -(-count * bits // 8)
