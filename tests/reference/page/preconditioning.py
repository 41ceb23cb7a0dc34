"""What a device goes through without time first: random pages until all planes have collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ..loop import WRITE
from ..untimed import UntimedLoop
from .device import Device
from .policies import greedy
from .simulator import Reference


def until_gc(reference: Reference, seed: int) -> None:
    """Under the policy and the placement of the device."""
    with without_time(reference):
        write_until_collecting(reference, seed)


def until_gc_greedy(reference: Reference, seed: int) -> None:
    """In one stream and under greedy, whatever the device is for; then its placement begins."""
    device, own = reference.device, reference.policy
    assert device.rule is None
    reference.policy = greedy
    device.place_by("single")
    with without_time(reference):
        write_until_collecting(reference, seed)
    device.adopt()
    reference.policy = own


@contextmanager
def without_time(reference: Reference) -> Iterator[None]:
    """Go on untimed for a while; the metrics begin afterwards."""
    device, own = reference.device, reference.config
    device.config = replace(own, timing="none")
    loop, reference.loop = reference.loop, UntimedLoop(device)
    yield
    loop.die_cursor = reference.loop.die_cursor
    device.config, reference.loop = own, loop
    reference.reset_metrics()


def write_until_collecting(reference: Reference, seed: int) -> None:
    pages, generator = reference.config.logical_pages, np.random.default_rng(seed)
    while not all(has_collected(reference.device, plane) for plane in range(reference.config.planes)):
        drawn = generator.integers(0, pages, max(pages // 256, 1))
        reference.run([(0, int(lpn), 1, WRITE, 0) for lpn in drawn], last=False)


def has_collected(device: Device, plane: int) -> bool:
    blocks = device.blocks_of_plane(plane)
    return any(device.erases[sub] for block in blocks for sub in device.sub_blocks_of_block(block))
