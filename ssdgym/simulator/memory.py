"""The layout of the memory that rules declare (`ssdgym.engine.core.handle.Memory`), and their constants."""

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import PageFtl
from ssdgym.engine.core.handle import MEMORY_FIELDS
from ssdgym.errors import SsdgymError
from ssdgym.policy import Rule
from ssdgym.policy.on_device import ROLES, rules_on, streams_of

#: The engine's array for each part of a rule's memory: `page`, `block`, `stream`, `device` and `table`.
_ARRAYS = {part: array for array, part in MEMORY_FIELDS.items()}
#: Alignment, in bytes, of the memory of each role (`ROLES`) in an array, and of each device in a batch.
_ALIGNED = 64


def _kept(device: DeviceConfig) -> list[tuple[list[Rule], dict[str, int]]]:
    """Return, for each of `ROLES` in order, its rules and the bytes of their records and table by part.

    A victim rule that uses the memory of the placement is left out.
    """
    geometry, found = device.usable, []
    counts = {
        "page": device.logical_pages,
        "block": geometry.planes * geometry.blocks_per_plane,
        "stream": geometry.planes * streams_of(device),
        "device": 1,
    }
    victims, placing, *others = (rules_on(device, role) for role in ROLES)
    own = [rule for rule in victims if placing[0].name not in rule.shares_memory_with]
    for rules in (own, placing, *others):
        counts["table"] = sum(rule.table(device) for rule in rules if rule.table is not None)
        records = {part: record for rule in rules for part, record in vars(rule.memory).items() if record}
        sizes = {part: record.itemsize * counts[part] for part, record in records.items()}
        found.append((rules, {**dict.fromkeys(_ARRAYS, 0), **sizes}))
    return found


def _room(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def memory_at(device: DeviceConfig) -> list[list[int]]:
    """Return the field `memory_at` of PARAMS: the offset of each role's memory in each array, in bytes."""
    starts, kept = [[0] * len(_ARRAYS)], _kept(device)
    for _, sizes in kept[:-1]:
        starts.append([start + _room(sizes[part]) for start, part in zip(starts[-1], _ARRAYS, strict=True)])
    is_shared = PageFtl.of(device.ftl).victim is not None and not kept[0][0]
    return [starts[1] if is_shared else starts[0], *starts[1:]]


def memory_sizes(device: DeviceConfig) -> dict[str, int]:
    """Return the lengths of the engine's arrays for the memory of rules, in bytes, each above 0."""
    kept = _kept(device)
    return {array: max(sum(_room(own[part]) for _, own in kept), _ALIGNED) for part, array in _ARRAYS.items()}


def memory_bytes(device: DeviceConfig) -> tuple[int, int]:
    """Return the bytes of all records and tables of rules, and the bytes that a controller would need."""
    total = needed = 0
    for rules, sizes in _kept(device):
        kept = sum(sizes.values())
        stated = [rule.controller_bytes(device) for rule in rules if rule.controller_bytes is not None]
        total += kept
        needed += sum(stated) if stated else kept
    return total, needed


#: Bound of the products that are computed to compare the benefits of victims in integers.
_LARGEST_PRODUCT = 2**61


def constants_of(device: DeviceConfig) -> dict[str, int]:
    """Return costs for the benefits of victims, and constants of the hotness table, by names of PARAMS."""
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
        # The hotness group of each degree 0..15, counted from 1, in 4 bits each; 0 = cold.
        "group_of_degree": sum(
            sum(least <= degree for least in hotness.thresholds) << (4 * degree) for degree in range(16)
        ),
    }
