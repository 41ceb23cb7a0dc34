"""The victim policies of docs/engine.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from .device import Device
from .erase_sets import best_sets, whole
from .randomness import POLICY_STREAM, TRIES, below, draw, mix

__all__ = [
    "Policy",
    "below",
    "best_set",
    "cost_benefit",
    "d_choices",
    "draw",
    "fifo",
    "greedy",
    "mix",
    "random_victim",
    "windowed_greedy",
]

Policy = Callable[[Device, int], tuple[int, int]]


def _whole(device: Device, block: int) -> tuple[int, int]:
    return block, whole(device.config)


def _eligible(device: Device, blocks: Sequence[int]) -> list[int]:
    return [block for block in blocks if device.is_eligible(block)]


def _random_eligible(device: Device, plane: int, first_draw: int) -> int:
    """An eligible block by the draws `first_draw` to `first_draw + 64`."""
    blocks = device.blocks_of_plane(plane)

    def drawn(k: int) -> int:
        z = draw(device.config.seed, POLICY_STREAM, device.counters["rounds"], first_draw + k)
        return below(len(blocks), z)

    for k in range(TRIES):
        if device.is_eligible(blocks[drawn(k)]):
            return blocks[drawn(k)]
    start = drawn(TRIES)
    return _eligible(device, [*blocks[start:], *blocks[:start]])[0]


def random_victim(device: Device, plane: int) -> tuple[int, int]:
    return _whole(device, _random_eligible(device, plane, 0))


def fifo(device: Device, plane: int) -> tuple[int, int]:
    return _whole(device, _eligible(device, device.ages[plane])[0])


def greedy(device: Device, plane: int) -> tuple[int, int]:
    fullest = [bucket for bucket in device.buckets[plane] if bucket][-1]
    return _whole(device, fullest[0])


def d_choices(d: int) -> Policy:
    def policy(device: Device, plane: int) -> tuple[int, int]:
        blocks = [_random_eligible(device, plane, (TRIES + 1) * j) for j in range(d)]
        return _whole(device, max(blocks, key=device.invalid_in_block))

    return policy


def windowed_greedy(w: int) -> Policy:
    def policy(device: Device, plane: int) -> tuple[int, int]:
        blocks = _eligible(device, device.ages[plane][:w])
        if not blocks:
            return fifo(device, plane)
        return _whole(device, max(blocks, key=device.invalid_in_block))

    return policy


def cost_benefit(exponent: float, since_close: bool) -> Policy:
    def policy(device: Device, plane: int) -> tuple[int, int]:
        def score(block: int) -> float:
            since = device.closed_at[block] if since_close else device.invalidated_at[block]
            age = float(device.clock - since + 1)
            valid = device.valid_in_block(block)
            return age**exponent * device.invalid_in_block(block) / (2 * valid) if valid else inf

        return _whole(device, max(_eligible(device, device.blocks_of_plane(plane)), key=score))

    return policy


def best_set(device: Device, plane: int) -> tuple[int, int]:
    """`gsm` on devices that erase runs of sub-blocks, `pb` on those that erase any set of them."""
    choice = best_sets(device, device.ages[plane])[0]
    return choice if device.objection(plane, *choice) is None else greedy(device, plane)
