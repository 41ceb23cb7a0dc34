"""How a device of the page family goes on after a power cut: blocks enter their lists as they are found."""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.index import leave_pool
from ssdgym.engine.blocks.manager import adopt_block, levelling_stream, open_block, program, program_levelled
from ssdgym.engine.blocks.victims import adopt_worn, erase, erase_again, vacate, withdraw_block
from ssdgym.engine.core.bits import full_mask, remainder
from ssdgym.engine.core.kernel import entry, inlined, kernel
from ssdgym.engine.core.records import INDEXED, LEVELS, MAX_STREAMS, OPEN, POOLED, RETIRED, WORN
from ssdgym.engine.decisions import CLOSED, OPENED, WRITTEN, block_event, page_event
from ssdgym.engine.flash import block_of, check_page, is_valid, sub_block_of
from ssdgym.engine.page.lifetime import empty_block, settle
from ssdgym.engine.rounds import has_round
from ssdgym.engine.time.events import make_ready


@kernel
def _tell_rules(dev, block, is_open):
    """Call the hooks for a block as if it had been opened, and its valid pages were written just now."""
    params, plane = dev.params[0], np.int64(dev.block[block].plane)
    if not is_open:
        block_event(dev, OPENED, plane, block)
    first = block * params.pages_per_block
    for ppn in range(first, first + params.pages_per_block):
        if is_valid(dev, np.int64(ppn)):
            page_event(dev, WRITTEN, plane, np.int64(dev.physical[ppn].lpn), np.int64(-1), np.int64(ppn))
    if dev.block[block].written == params.pages_per_block:
        block_event(dev, CLOSED, plane, block)


@kernel
def _reopen(dev, plane, stream, block):
    """Open a block for a stream if a sub-block of it is written in part; return whether one is."""
    params = dev.params[0]
    for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
        if 0 < dev.sub_block[sub].written < params.pages_per_sub_block:
            open_block(dev, plane, stream, block)
            return True
    return False


@kernel
def _victim_with_room(dev, plane):
    """Return the block with most invalid pages whose valid pages fit elsewhere in its plane, or -1."""
    params = dev.params[0]
    best, most = np.int64(-1), np.int64(0)
    room = np.int64(dev.plane[plane].pool_pages)
    for stream in range(MAX_STREAMS):
        sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
        if sub >= 0:
            room += params.pages_per_sub_block - dev.sub_block[sub].written
    block = np.int64(dev.plane[plane].age_head)
    while block >= 0:
        record = dev.block[block]
        own = params.pages_per_block - record.written
        if record.invalid > most and record.written - record.invalid <= room - own:
            best, most = block, np.int64(record.invalid)
        block = np.int64(record.next_age)
    return best


@inlined
def _stream_with_block(dev, plane):
    """Return the lowest stream of a plane that has an open block, levelling's the last; 0 where none has."""
    for stream in range(MAX_STREAMS):
        if dev.open_sub_block[plane * MAX_STREAMS + stream] >= 0:
            return np.int64(stream)
    return np.int64(0)


@kernel
def _collect(dev, plane, block):
    """Move the valid pages of a block to what is open in its plane, then erase it; return the moves."""
    params = dev.params[0]
    moves = np.int64(dev.block[block].written - dev.block[block].invalid)
    withdraw_block(dev, block, moves)
    for ppn in range(block * params.pages_per_block, (block + 1) * params.pages_per_block):
        if is_valid(dev, np.int64(ppn)):
            lpn, version = np.int64(dev.physical[ppn].lpn), np.int64(dev.physical[ppn].version)
            check_page(dev, lpn, np.int64(ppn))
            stream = _stream_with_block(dev, plane)
            if stream == levelling_stream(dev):
                dev.logical[lpn].ppn = program_levelled(dev, plane, lpn, version)
            else:
                dev.logical[lpn].ppn = program(dev, plane, stream, lpn, version, True)
            sub = sub_block_of(params, np.int64(ppn))
            vacate(dev, block_of(params, sub), sub, 1)
            dev.counters[0].relocated_pages += 1
    erase(dev, block, full_mask(params.sub_blocks))
    return moves


@kernel
def _collect_plane(dev, plane, work):
    """Collect until as many pages are in the pool as between rounds; count moves and erases in `work`."""
    while dev.plane[plane].pool_pages < dev.params[0].floor_pool:
        block = np.int64(_victim_with_room(dev, plane))
        if block < 0:
            return
        work[plane, 0] += _collect(dev, plane, block)
        work[plane, 1] += 1


# -- where cells wear out


@inlined
def _is_half_emptied(dev, block, mark):
    """Return whether a worn block was being emptied, and part of it has been erased."""
    record = dev.block[block]
    return (
        mark & WORN != 0
        and (mark | record.status) & (OPEN | RETIRED) == 0
        and mark & INDEXED == 0
        and 0 < record.written < dev.params[0].pages_per_block
    )


@kernel
def _go_on_emptying(dev, worn):
    """Let rounds go on that emptied worn blocks."""
    params = dev.params[0]
    settle(dev)
    for plane in range(np.int64(params.planes)):
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            record = dev.block[block]
            if record.status & WORN and record.status & POOLED:  # it has not been opened again
                leave_pool(dev, np.int64(block))
            if _is_half_emptied(dev, np.int64(block), worn[block]):
                withdraw_block(dev, np.int64(block), np.int64(record.written - record.invalid))
                empty_block(dev, np.int64(block))
        if has_round(dev, plane):
            if params.timed:
                make_ready(dev, remainder(plane, params.dies))
            elif dev.control[0].gc_plane < 0:
                dev.control[0].gc_plane = plane


@entry
def adopt_pages(dev, half_erased, worn, work, reopens):
    """Let an empty device take over the pages that have been found and mapped.

    `half_erased` (m,) ERASE_PAIR is erased again; `worn` uint8 (blocks,) is the status of worn blocks, 0 of
    others. A plane that was short of free pages in the middle of a round collects; `work` (planes, 2) gets
    its moves and erases. With `reopens` blocks go on being written whose sub-block has been written in part:
    of each plane the first for stream 0, and so on.
    """
    params = dev.params[0]
    for k in range(half_erased.shape[0]):
        erase_again(dev, np.int64(half_erased[k].block), half_erased[k].mask, worn)
    for plane in range(np.int64(params.planes)):
        stream = np.int64(0)
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            adopt_block(dev, np.int64(block))
            if worn[block]:
                adopt_worn(dev, np.int64(block), worn[block])
        for block in range(plane * params.blocks, (plane + 1) * params.blocks):
            if dev.block[block].written > 0:
                streams = params.streams + (params.levels & LEVELS)
                may_open = reopens and stream < streams and dev.block[block].status & POOLED
                is_open = may_open and _reopen(dev, plane, stream, np.int64(block))
                stream += is_open
                _tell_rules(dev, np.int64(block), is_open)
        _collect_plane(dev, plane, work)
    if params.endures:
        _go_on_emptying(dev, worn)
