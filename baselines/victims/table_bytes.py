"""Bytes that a controller would need for best sets and orders of blocks.

Fields have as many bits as their largest values need, and records whole bytes. Ranks are not stored.
"""

from typing import Any


def best_set_bytes(device: Any, *fields: int) -> int:
    """Return the bytes of the best sets of all blocks: mask, invalid pages, moves, and `fields` more bits."""
    geometry = device.usable
    runs = device.erase_unit == "sub_block_run"
    mask = 2 * bits_of(geometry.sub_blocks_per_block - 1) if runs else geometry.sub_blocks_per_block
    pages = 2 * bits_of(geometry.pages_per_block)
    return geometry.planes * geometry.blocks_per_plane * whole_bytes(mask + pages + sum(fields))


def tree_bytes(device: Any) -> int:
    """Return the bytes of a tournament tree over each plane's blocks; n blocks have n - 1 inner nodes."""
    blocks = device.usable.blocks_per_plane
    return device.usable.planes * (blocks - 1) * whole_bytes(bits_of(blocks - 1))


def bits_of(largest: int) -> int:
    """Return the bits of a field with values from 0 to `largest`."""
    return max(largest.bit_length(), 1)


def whole_bytes(bits: int) -> int:
    """Return `bits` in bytes, rounded up."""
    return -(-bits // 8)
