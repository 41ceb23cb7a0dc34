"""Where a page goes: into a stream, or scattered to a sub-block of a block in the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .blocks import Place, Scattered, Stream
from .erase_sets import best_set_of_block, best_sets
from .randomness import HOST_STREAM, RELOCATION_STREAM, TRIES, below, draw

if TYPE_CHECKING:
    from .device import Device


def stream_of_host_page(device: Device, plane: int, lpn: int) -> Stream:
    """For placements in streams, and before the page is counted."""
    assert not device.scatters
    if device.rule:
        return Stream(device.rule.stream_of_host_page(plane, lpn))
    is_by_hotness = device.placement == "hot_cold" and not device.is_first_write(lpn)
    return _hot_or_cold(device, lpn) if is_by_hotness else Stream(0)


def place_host_page(device: Device, plane: int, lpn: int, is_first: bool = False) -> Place:
    """For placements that scatter, and after the page is counted, unless it is a first write."""
    if device.placement == "hotness_groups":
        source = HOST_STREAM, device.clock, 0
        if is_first:
            return _to_open_block(device, plane, *source)
        return _by_hotness(device, plane, lpn, *source)
    return _to_victim(device, plane) if device.hotness_group(lpn) and not is_first else Stream(0)


def place_relocated_page(device: Device, plane: int, lpn: int, source: int) -> Place:
    """`source` is the physical page it is moved from."""
    if device.placement == "hotness_groups":
        first = (TRIES + 1) * device.number_in_block(source)
        return _by_hotness(device, plane, lpn, RELOCATION_STREAM, device.rounds_started, first)
    if device.rule:
        return Stream(device.rule.stream_of_relocated_page(lpn, source))
    if device.placement == "hot_cold":
        return _hot_or_cold(device, lpn)
    return Stream(1 if device.placement == "sep_gc" else 0)


def where_there_is_room(device: Device, plane: int, own: Place) -> Place:
    """The place itself, or, down to the last block of the pool, the open block of a stream nearby.

    Streams of higher numbers come before those of lower ones, and nearer ones first.
    """
    is_low = device.pool_pages(plane) < 2 * device.config.pages_per_block
    if isinstance(own, Scattered) or not (device.config.shares_open_blocks and is_low):
        return own
    nearest = [*range(own.number, device.config.streams), *reversed(range(own.number))]
    return next((Stream(number) for number in nearest if (plane, number) in device.open), own)


def _hot_or_cold(device: Device, lpn: int) -> Stream:
    return Stream(1 if device.hotness_group(lpn) else 0)


def _to_victim(device: Device, plane: int) -> Place:
    """GSM+ of SpeedupGC, section II-B."""
    sets = best_sets(device, list(device.pools[plane]))
    with_room = [block for block, _ in sets if _room_in_best_set(device, block)]
    if with_room:
        return Scattered(_room_in_best_set(device, with_room[0])[0])
    if sets:
        return Scattered(device.writable_sub_blocks(sets[0][0])[0])
    return Stream(0)


def _by_hotness(device: Device, plane: int, lpn: int, stream: int, decision: int, first: int) -> Place:
    """Algorithm 2 of SpeedupGC, section III-C, for relocated pages as well (section III-D)."""
    group = device.hotness_group(lpn)
    if group == 0 and device.config.hotness_scatter == "block":
        return _to_open_block(device, plane, stream, decision, first)
    if group == 0:
        block = _random_block(device, plane, stream, decision, first)
        return Scattered(device.writable_sub_blocks(block)[0])
    for block in _pooled_blocks(device, plane, group):
        if room := _room_in_best_set(device, block):
            return Scattered(room[0])
    for number in _nearest_groups(group, device.config.groups):
        if pooled := _pooled_blocks(device, plane, number):
            return Scattered(device.writable_sub_blocks(pooled[0])[0])
    raise RuntimeError(f"plane {plane} has no block left to write to")


def _to_open_block(device: Device, plane: int, stream: int, decision: int, first: int) -> Stream:
    """The block that is open, or else the one to which the page would be scattered."""
    if (plane, 0) in device.open:
        return Stream(0)
    return Stream(0, opens=_random_block(device, plane, stream, decision, first))


def _pooled_blocks(device: Device, plane: int, group: int) -> list[int]:
    return sorted(block for block in device.groups[plane].groups[group - 1] if block in device.pools[plane])


def _nearest_groups(i: int, count: int) -> list[int]:
    """Groups 1 to `count` in the order i, i + 1, i - 1, i + 2, i - 2, ..."""
    numbers = [i] + [i + sign * distance for distance in range(1, count) for sign in (1, -1)]
    return [number for number in numbers if 1 <= number <= count]


def _room_in_best_set(device: Device, block: int) -> list[int]:
    """Sub-blocks with unwritten pages that would be erased if the block were collected now."""
    mask = best_set_of_block(device, block)
    if mask is None:
        return []
    return [sub for sub in device.sub_blocks_of_set(block, mask) if sub in device.writable_sub_blocks(block)]


def _random_block(device: Device, plane: int, stream: int, decision: int, first: int) -> int:
    blocks = device.blocks_of_plane(plane)

    def drawn(k: int) -> int:
        return below(len(blocks), draw(device.config.seed, stream, decision, first + k))

    start = drawn(TRIES)
    order = [blocks[drawn(k)] for k in range(TRIES)] + [*blocks[start:], *blocks[:start]]
    pooled = [block for block in order if block in device.pools[plane]]
    if not pooled:
        raise RuntimeError(f"plane {plane} has no block left to write to")
    return pooled[0]
