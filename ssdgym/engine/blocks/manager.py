"""Changes of blocks: blocks are opened and closed, their pages programmed and invalidated, victims erased."""

import numpy as np

from ssdgym.engine import decisions, flash
from ssdgym.engine.blocks import index
from ssdgym.engine.cells import count_retired, wears_out
from ssdgym.engine.core.bits import remainder
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import INDEXED, MAX_STREAMS, OPEN, POOLED, RETIRED, WORN
from ssdgym.engine.core.status import NOT_FREE, OK, OUT_OF_SPACE


@inlined
def stream_of(dev, record):
    """Return the record of the stream to which a block, given by its record, belongs."""
    return dev.stream[np.int64(record.plane) * MAX_STREAMS + record.stream]


@inlined
def count_invalid(dev, ppn):
    """Count a physical page as invalid, except in `valid` of its plane; return its block."""
    params = dev.params[0]
    sub = flash.sub_block_of(params, ppn)
    flash.invalidate_pages(dev, sub, 1)
    block = flash.block_of(params, sub)
    record = dev.block[block]
    stream_of(dev, record).valid -= 1
    if record.status & INDEXED:
        index.raise_invalid(dev, block)
    else:
        record.invalid += 1
    return block


@inlined
def invalidate(dev, clock, lpn, ppn):
    """Count the physical page of a logical page that is overwritten or trimmed as invalid; call hooks."""
    params = dev.params[0]
    record = dev.block[flash.block_of(params, flash.sub_block_of(params, ppn))]
    record.invalidated_at = clock
    dev.plane[record.plane].valid -= 1
    count_invalid(dev, ppn)
    decisions.page_event(dev, decisions.INVALIDATED, np.int64(record.plane), lpn, ppn, np.int64(-1))


@inlined
def count_valid(dev, plane):
    """Count one more valid page of a plane."""
    dev.plane[plane].valid += 1


@inlined
def _first_writable(dev, block, first):
    """Return a block's lowest sub-block (global number) with unwritten pages from its `first` up; or -1."""
    params = dev.params[0]
    base = block * params.sub_blocks
    for sub in range(base + first, base + params.sub_blocks):
        if dev.sub_block[sub].written < params.pages_per_sub_block:
            return sub
    return -1


@inlined
def _begin_sub_block(dev, block, sub):
    """Subtract the pages of `sub`, the new open sub-block, from its block's `written`; return `sub`."""
    if sub >= 0:
        dev.block[block].written -= dev.sub_block[sub].written
    return sub


@kernel
def open_block(dev, plane, stream, block):
    """Open a block of the pool for a stream, at the block's first sub-block with unwritten pages."""
    index.leave_pool(dev, block)
    record = dev.block[block]
    if record.status & INDEXED:
        index.leave_index(dev, block)
    record.status |= OPEN
    # The block with its valid pages now belongs to the stream; a block for levelling, to the last stream.
    own = min(stream, np.int64(dev.params[0].streams) - 1)
    joined = dev.stream[plane * MAX_STREAMS + own]
    if record.written > 0:
        valid = record.written - record.invalid
        left = stream_of(dev, record)
        left.blocks -= 1
        left.valid -= valid
        left.closed_sum -= record.closed_at
        joined.valid += valid
    joined.blocks += 1
    record.stream = own
    decisions.block_event(dev, decisions.OPENED, plane, block)
    sub = _begin_sub_block(dev, block, _first_writable(dev, block, 0))
    dev.open_sub_block[plane * MAX_STREAMS + stream] = sub


@kernel
def _advance_sub_block(dev, clock, sub):
    """Return the next sub-block with unwritten pages after `sub`; if none, close the block and return -1."""
    params = dev.params[0]
    block = flash.block_of(params, sub)
    record = dev.block[block]
    record.written += params.pages_per_sub_block
    following = _first_writable(dev, block, sub - block * params.sub_blocks + 1)
    if following < 0:
        record.status &= ~OPEN
        record.closed_at = clock
        stream_of(dev, record).closed_sum += clock
        index.enter_index(dev, block)
        decisions.block_event(dev, decisions.CLOSED, np.int64(record.plane), block)
    return _begin_sub_block(dev, block, following)


@inlined
def writable_sub_block(dev, plane, stream):
    """Return the open sub-block of (plane, stream); if none, open the pool's first block; -1 for no block."""
    slot = plane * MAX_STREAMS + stream
    if dev.open_sub_block[slot] < 0:
        head = np.int64(dev.plane[plane].pool_head)
        if head < 0:
            return np.int64(-1)
        open_block(dev, plane, stream, head)
    return np.int64(dev.open_sub_block[slot])


@inlined
def is_in(dev, plane, block, status):
    """Return whether a block lies in a plane and has a bit of `status`, such as POOLED or INDEXED."""
    first = plane * np.int64(dev.params[0].blocks)
    return first <= block < first + dev.params[0].blocks and dev.block[block].status & status != 0


@inlined
def _block_to_open(dev, plane, stream):
    """Return the block to open for a stream without an open block; -1 if the pool is empty.

    NOT_FREE means that the allocation rule has chosen a block outside the pool.
    """
    head = np.int64(dev.plane[plane].pool_head)
    if head < 0 or dev.decider.hooks & decisions.ALLOCATES == 0:
        return head
    block = decisions.block_by(dev, plane, stream)
    return block if is_in(dev, plane, block, POOLED) else np.int64(NOT_FREE)


@kernel
def _open_chosen(dev, plane, stream):
    block = _block_to_open(dev, plane, stream)
    if block < 0:
        return np.int64(OUT_OF_SPACE) if block == -1 else block
    open_block(dev, plane, stream, block)
    return np.int64(OK)


@inlined
def ensure_open(dev, plane, stream):
    """If an allocation rule is set, open its choice for a stream without open block; return OK or an error.

    This is called before a page changes any state. Without such a rule, `program` opens the pool's first
    block.
    """
    if dev.decider.hooks & decisions.ALLOCATES == 0 or dev.open_sub_block[plane * MAX_STREAMS + stream] >= 0:
        return np.int64(OK)
    return np.int64(_open_chosen(dev, plane, stream))


@kernel
def return_open_block(dev, plane, stream):
    """Close the open block of (plane, stream), if any: it enters pool and index with its written pages."""
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
    if sub < 0:
        return
    dev.open_sub_block[plane * MAX_STREAMS + stream] = -1
    block = flash.block_of(dev.params[0], sub)
    record = dev.block[block]
    record.status &= ~OPEN
    record.written += dev.sub_block[sub].written
    index.join_pool(dev, block)
    index.enter_index(dev, block)
    stream_of(dev, record).closed_sum += record.closed_at


@inlined
def row_of(dev, plane, stream):
    """Return the row of (plane, stream): the number, in its block, of the next page; -1 without a block."""
    params = dev.params[0]
    sub = np.int64(dev.open_sub_block[plane * MAX_STREAMS + stream])
    if sub < 0:
        block = _block_to_open(dev, plane, stream)
        if block < 0:
            return np.int64(-1)
        sub = np.int64(_first_writable(dev, block, 0))
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    return remainder(ppn, params.pages_per_block)


@inlined
def count_in_stream(stream, pages, relocated):
    """Count `pages` programmed, valid pages in the record of a stream, as relocated or as host pages."""
    stream.valid += pages
    if relocated:
        stream.relocated_pages += pages
    else:
        stream.host_pages_written += pages


@inlined
def count_overflow(dev, plane, stream):
    """Count a relocated page of a stream that is programmed to the open block of another stream."""
    dev.counters[0].overflow_pages += 1
    dev.stream[plane * MAX_STREAMS + stream].overflow_pages += 1


@inlined
def note_relocated(dev, block, pages):
    """Count `pages` relocated pages, programmed one after the other in a block, in runs and clustered pages.

    A page is clustered if the page before or after it in the block is relocated, too.
    """
    record = dev.block[block]
    before = np.int64(record.relocated_run)
    dev.counters[0].relocated_runs += before == 0
    if before + pages > 1:
        dev.counters[0].clustered_pages += pages + (before == 1)
    record.relocated_run = min(2, before + pages)


@inlined
def note_program(dev, block, relocated):
    """Lengthen a block's run of relocated pages by a relocated page; end the run at any other page."""
    if relocated:
        note_relocated(dev, block, 1)
    else:
        dev.block[block].relocated_run = 0


@inlined
def count_programs(dev, clock, plane, stream, sub, programs):
    """Count `programs` pages as written to the open sub-block `sub`; if it is full, open the block's next."""
    written = flash.count_written(dev, sub, programs)
    dev.plane[plane].free_pages -= programs
    if written == dev.params[0].pages_per_sub_block:
        dev.open_sub_block[plane * MAX_STREAMS + stream] = _advance_sub_block(dev, clock, sub)


@inlined
def program(dev, plane, stream, lpn, version, relocated):
    """Program the next page of (plane, stream); return the physical page, -1 if no block is free."""
    params = dev.params[0]
    sub = writable_sub_block(dev, plane, stream)
    if sub < 0:
        return -1
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    flash.program_page(dev, ppn, lpn, version)
    note_program(dev, flash.block_of(params, sub), relocated)
    count_in_stream(dev.stream[plane * MAX_STREAMS + stream], 1, relocated)
    count_programs(dev, dev.control[0].clock, plane, stream, sub, 1)
    return ppn


@kernel
def pad_page(dev, plane, stream, lpn):
    """Pad: program the next page of (plane, stream) as an invalid page of `lpn`, with version -1."""
    sub = writable_sub_block(dev, plane, stream)
    ppn = sub * dev.params[0].pages_per_sub_block + dev.sub_block[sub].written
    flash.program_page(dev, ppn, lpn, np.int64(-1))
    block = flash.block_of(dev.params[0], sub)
    note_program(dev, block, False)
    flash.invalidate_pages(dev, sub, 1)
    dev.block[block].invalid += 1
    count_programs(dev, dev.control[0].clock, plane, stream, sub, 1)
    dev.counters[0].padded_pages += 1


@kernel
def scatter(dev, plane_number, sub, lpn, version, relocated):
    """Program the next page of a sub-block of a pool's block; return the physical page, -1 if `sub` is -1."""
    if sub < 0:
        return np.int64(-1)
    params = dev.params[0]
    ppn = sub * params.pages_per_sub_block + dev.sub_block[sub].written
    flash.program_page(dev, ppn, lpn, version)
    flash.count_written(dev, sub, 1)
    block = sub // np.int64(params.sub_blocks)
    record = dev.block[block]
    stream = stream_of(dev, record)
    if record.written == 0:
        stream.blocks += 1
        stream.closed_sum += record.closed_at
    record.written += 1
    note_program(dev, block, relocated)
    count_in_stream(stream, 1, relocated)
    plane = dev.plane[plane_number]
    plane.free_pages -= 1
    plane.pool_pages -= 1
    if not record.status & INDEXED:
        index.enter_index(dev, block)
    if record.written == params.pages_per_block:
        stream.closed_sum += dev.control[0].clock - record.closed_at
        record.closed_at = dev.control[0].clock
        index.leave_pool(dev, block)
    decisions.block_event(dev, decisions.SCATTERED, plane_number, np.int64(block))
    return ppn


# -- victims: blocks that leave index and pool, are emptied and erased, and join the pool again or retire


@inlined
def vacate(dev, block, sub, pages):
    """Count `pages` pages of a victim's sub-block, which have been relocated, as invalid."""
    flash.invalidate_pages(dev, sub, pages)
    record = dev.block[block]
    record.invalid += pages
    stream_of(dev, record).valid -= pages


@kernel
def withdraw_block(dev, block, valid):
    """Remove a new victim from index and pool; `valid` counts the valid pages of its sub-blocks to erase."""
    stream = stream_of(dev, dev.block[block])
    stream.victims += 1
    stream.victim_valid_pages += valid
    index.leave_index(dev, block)
    if dev.block[block].status & POOLED:
        index.leave_pool(dev, block)
    index.lower_max_invalid(dev, np.int64(dev.block[block].plane))
    decisions.block_event(dev, decisions.COLLECTED, np.int64(dev.block[block].plane), block)


@inlined
def lose_pages(dev, plane, pages):
    """Lower the limit of valid pages of a plane by `pages`, for the rest of the device's life."""
    dev.plane[plane].gone_pages += pages


@kernel
def retire(dev, block):
    """Retire an erased block: it is never written again."""
    record, pages = dev.block[block], np.int64(dev.params[0].pages_per_block)
    record.status |= RETIRED
    dev.plane[record.plane].free_pages -= pages
    lose_pages(dev, record.plane, pages)
    count_retired(dev)


@kernel
def erase(dev, block, mask):
    """Erase the sub-blocks of `mask`; the block joins the pool and, if it has written pages left, the index.

    A worn block joins neither: it is retired, as soon as it has no written pages.
    """
    record = dev.block[block]
    decisions.block_event(dev, decisions.ERASED, np.int64(record.plane), block)
    written, invalid = flash.erase_cells(dev, block, mask)
    record.invalid -= invalid
    record.written -= written
    record.relocated_run = 0
    dev.plane[record.plane].free_pages += written
    dev.counters[0].erases += 1
    if dev.params[0].endures and wears_out(dev, block, mask):
        record.status |= WORN
    if record.status & WORN:
        if record.written > 0:
            return
        retire(dev, block)
    else:
        index.join_pool(dev, block)
    if record.written > 0:
        index.enter_index(dev, block)
    else:
        stream = stream_of(dev, record)
        stream.blocks -= 1
        stream.closed_sum -= record.closed_at
    decisions.block_event(dev, decisions.RECYCLED, np.int64(record.plane), block)
