"""What functions between two steps see of a device: the records of the real one, made from the naive one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..blocks import Blocks


class View(NamedTuple):
    """What the function between two steps sees of a device."""

    params: Any
    control: Any
    plane: Any
    block: Any
    page_memory: Any
    block_memory: Any
    stream_memory: Any
    memory: Any


def zeros(fields: Any, count: int) -> Any:
    """Records of these fields, or of whole numbers of these names."""
    named = [(field, "i8") if isinstance(field, str) else field for field in fields]
    return np.zeros(count, np.dtype(named)).view(np.recarray)


def view_of(device: Blocks, pages: Any, blocks: Any, groups: Any, memories: Any) -> View:
    """The records of a placement beside those of the device, which are for reading."""
    c = device.config
    unit = 1 if c.threshold_blocks is None else c.pages_per_block
    params = zeros(
        (
            ("seed", "u8"),
            *("planes", "blocks", "pages_per_block", "logical_pages"),
            *("low_free", "stop_free", "low_pool", "stop_pool"),
        ),
        1,
    )
    params.seed, params.planes, params.blocks = c.seed, c.planes, c.blocks_per_plane
    params.pages_per_block, params.logical_pages = c.pages_per_block, c.logical_pages
    params.low_pool = max(c.threshold * unit, c.floor * c.pages_per_block)
    params.stop_pool = c.threshold * unit if c.gc_mode == "barrier" else 0
    control = zeros(("clock",), 1)
    control.clock = device.clock
    plane = zeros(("valid",), c.planes)
    plane.valid = [sum(map(device.valid_in_block, device.blocks_of_plane(p))) for p in range(c.planes)]
    block = zeros(("status", "stream", "closed_at", "invalid"), len(blocks))
    opened = {place.block: stream for (_, stream), place in device.open.items()}
    for b in range(len(block)):
        status = (b in opened) + 2 * device.is_indexed(b)
        block[b] = (status, opened.get(b, 0), device.closed_at[b], device.invalid_in_block(b))
    return View(params, control, plane, block, pages, blocks, groups, memories)
