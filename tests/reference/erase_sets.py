"""What may be erased together, what it costs, and what would be best: every candidate is tried, each time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from .config import ReferenceConfig

if TYPE_CHECKING:
    from .device import Device

#: (block, mask of its sub-blocks)
Pair = tuple[int, int]
#: The most pairs of an erase set.
MOST_PAIRS = 8


def bits_of(mask: int) -> list[int]:
    """The sub-blocks of a set by their number within the block."""
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def mask_of(bits: list[int]) -> int:
    return sum(1 << bit for bit in bits)


def whole(config: ReferenceConfig) -> int:
    """The mask of all sub-blocks."""
    return (1 << config.sub_blocks_per_block) - 1


def adjacent(config: ReferenceConfig, mask: int) -> int:
    """The sub-blocks next to one of the set and not in it."""
    return (mask << 1 | mask >> 1) & ~mask & whole(config)


def neighbours(config: ReferenceConfig, mask: int) -> int:
    """The sub-blocks that have to be emptied before the set is erased."""
    return adjacent(config, mask) if config.isolation == "software" else 0


def invalid_in_set(device: Device, block: int, mask: int) -> int:
    subs = device.sub_blocks_of_set(block, mask)
    return sum(device.invalid_in_sub_block(sub) for sub in subs)


def valid_in_set(device: Device, block: int, mask: int) -> int:
    return sum(device.valid_in_sub_block(sub) for sub in device.sub_blocks_of_set(block, mask))


def moves(device: Device, block: int, mask: int) -> int:
    """The pages that are relocated before the set is erased."""
    return valid_in_set(device, block, mask | neighbours(device.config, mask))


def benefit(device: Device, block: int, mask: int) -> Fraction:
    """Pages gained per time."""
    c = device.config
    cost = moves(device, block, mask) * c.copy_ns + c.erase_cost_ns
    return Fraction(invalid_in_set(device, block, mask), cost)


# What is legal


def can_be_erased(config: ReferenceConfig, mask: int) -> bool:
    """Whether the device's erase unit allows this non-empty subset."""
    if mask == whole(config) or config.erase_unit == "sub_block_set":
        return True
    is_run = bits_of(mask) == list(range(min(bits_of(mask)), max(bits_of(mask)) + 1))
    return config.erase_unit == "sub_block_run" and is_run


def gains_pages(device: Device, block: int, mask: int) -> bool:
    lost = valid_in_set(device, block, neighbours(device.config, mask))
    return invalid_in_set(device, block, mask) > lost


def objection(device: Device, plane: int, pairs: list[Pair]) -> str | None:
    """Why a round led by the plane may not collect these pairs; None if it may."""
    blocks = [block for block, _ in pairs]
    if not 1 <= len(pairs) <= MOST_PAIRS:
        return f"{len(pairs)} pairs are not 1 to {MOST_PAIRS}"
    if len(set(blocks)) < len(blocks):
        return f"blocks {blocks} are not all different"
    if not any(block in device.blocks_of_plane(plane) for block in blocks):
        return f"none of blocks {blocks} is in plane {plane}, which leads"
    reasons = [_objection_to_block(device, plane, block, blocks) for block in blocks]
    reasons += [_objection_to_pair(device, plane, block, mask) for block, mask in pairs if not any(reasons)]
    reasons += [_objection_to_moves(device, p, pairs) for p in device.planes_of(pairs) if not any(reasons)]
    return next((reason for reason in reasons if reason is not None), None)


def _objection_to_block(device: Device, plane: int, block: int, blocks: list[int]) -> str | None:
    """Whether the block lies where the leading plane can take it along."""
    own = device.plane_of_block(block)
    if own == plane:
        return None
    if device.config.multi_plane == "none" or own not in device.siblings(plane):
        return f"block {block} cannot be erased in a round led by plane {plane}"
    if device.leader_of(own) is not None:
        return f"a round is running in plane {own} of block {block}"
    leading = [device.number_in_plane(b) for b in blocks if device.plane_of_block(b) == plane]
    if device.config.multi_plane == "strict" and device.number_in_plane(block) not in leading:
        return f"block {block} has another number within its plane than the blocks of plane {plane}"
    return None


def _objection_to_pair(device: Device, plane: int, block: int, mask: int) -> str | None:
    if not device.is_indexed(block):
        return f"block {block} is open, being collected or empty"
    if not 0 < mask <= whole(device.config):
        return f"mask {mask:#b} is no non-empty subset of the sub-blocks"
    if not can_be_erased(device.config, mask):
        return f"mask {mask:#b} cannot be erased with erase_unit {device.config.erase_unit}"
    if invalid_in_set(device, block, mask) == 0:
        return f"mask {mask:#b} of block {block} holds no invalid page"
    must_gain = device.must_gain(plane) or device.must_gain(device.plane_of_block(block))
    if must_gain and not gains_pages(device, block, mask):
        return f"mask {mask:#b} of block {block} would gain no pages"
    return None


def _objection_to_moves(device: Device, plane: int, pairs: list[Pair]) -> str | None:
    """Whether the plane has room for the moves of its pairs, as nothing is free before the erase."""
    own = [(block, mask) for block, mask in pairs if device.plane_of_block(block) == plane]
    moved = sum(moves(device, block, mask) for block, mask in own)
    left = sum(device.free_in_block(block) for block, _ in own)
    per_block = device.config.pages_per_block
    pooled = device.pool_pages(plane)
    if moved + left > max(per_block, pooled - per_block):
        return f"{moved} moves are too many for the {pooled} pages of the pool of plane {plane}"
    return None


# What is best


def runs(config: ReferenceConfig) -> list[int]:
    """Masks of all runs of consecutive sub-blocks."""
    count = config.sub_blocks_per_block
    return [mask_of(list(range(a, b))) for a in range(count) for b in range(a + 1, count + 1)]


def fullest_first(device: Device, block: int) -> list[int]:
    """Masks of the sub-block with most invalid pages, of the two with most, and so on."""

    def order(bit: int) -> tuple[int, int]:
        return -device.invalid_in_sub_block(device.sub_blocks_of_block(block)[bit]), bit

    bits = sorted(range(device.config.sub_blocks_per_block), key=order)
    return [mask_of(bits[:length]) for length in range(1, len(bits) + 1)]


def preference(device: Device, block: int, mask: int) -> tuple[Fraction, int, int, int]:
    """The smaller, the better."""
    bits = bits_of(mask)
    return -benefit(device, block, mask), len(bits), min(bits), block


def best_set_of_block(device: Device, block: int) -> int | None:
    """The mask that would be erased if the block were collected now; None without an invalid page to gain."""
    config = device.config
    if config.erase_unit == "block" or not device.is_eligible(block):
        return None
    candidates = runs(config) if config.erase_unit == "sub_block_run" else fullest_first(device, block)
    return min(candidates, key=lambda mask: preference(device, block, mask))


def best_sets(device: Device, blocks: list[int]) -> list[Pair]:
    """(block, its best set) of those that have one, the best first."""
    found = [(block, best_set_of_block(device, block)) for block in blocks]
    sets = [(block, mask) for block, mask in found if mask is not None]
    return sorted(sets, key=lambda choice: preference(device, *choice))


def rank(device: Device, block: int) -> Fraction:
    """What block groups are sorted by."""
    if device.is_open(block):
        return Fraction(0)
    if device.config.isolation == "hardware":
        return Fraction(sum(device.is_all_invalid(sub) for sub in device.sub_blocks_of_block(block)))
    mask = best_set_of_block(device, block)
    return Fraction(0) if mask is None else benefit(device, block, mask)
