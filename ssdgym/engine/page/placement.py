"""Where a page goes: to the open block of a stream, or scattered to a block by how hot the page is.

`hotness_groups` is Algorithm 2 of SpeedupGC with its relocation strategy (sections III-C and III-D), and
`hot_to_victims` its GSM+ (section II-B).
"""

import numpy as np

from ssdgym.engine.allocation import allocate_plane, has_room, plane_from_cursor
from ssdgym.engine.blocks.index import prefetch_block
from ssdgym.engine.blocks.manager import count_overflow, open_block, program, row_of, scatter
from ssdgym.engine.core.bits import HOST_PLACEMENT_STREAM, RELOCATION_STREAM, below, draw, full_mask
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import BY_RULE, HOT_COLD, HOTNESS_GROUPS, IN_STREAMS, MAX_STREAMS, OPEN
from ssdgym.engine.decisions import (
    PLACE,
    RELOCATE,
    WHOLE_REQUESTS,
    is_external,
    request_action,
    stream_by,
)
from ssdgym.engine.flash import block_of, sub_block_of
from ssdgym.engine.speedupgc.best_sets import count_update, first_writable, hotness_group
from ssdgym.engine.speedupgc.groups import ANYTHING, PROGRAMMED, first_of, reclassify
from ssdgym.engine.speedupgc.heaps import best_target, refresh

HOST_STREAM, HOT_STREAM = 0, 1
_TRIES = 64
_LIKELY_TRIES = 2


@inlined
def _first_sub_block(view, block):
    """Return the lowest sub-block of a block with unwritten pages, where groups are kept."""
    params = view.params[0]
    return block * params.sub_blocks + np.int64(view.best[block].first)


@kernel
def _next_victims_sub_block(view, plane):
    """Return the sub-block, of those erased soon, that a page goes to (GSM+); -1 for none."""
    params = view.params[0]
    block = best_target(view, plane)
    if block < 0:
        return block
    sub = first_writable(view, block, view.best[block].mask)
    if sub >= 0:
        return sub
    return first_writable(view, block, full_mask(params.sub_blocks))


@kernel
def _groups_sub_block(view, plane, group):
    """Return the sub-block for a hot page of a hotness group, counted from 0 (Algorithm 2).

    It is -1 without a free page.
    """
    params = view.params[0]
    block = first_of(view, plane, group, 1)
    if block >= 0:
        return first_writable(view, block, view.best[block].mask)
    block = first_of(view, plane, group, 0)
    distance = 1
    while block < 0 and distance < params.groups:
        if group + distance < params.groups:
            block = first_of(view, plane, group + distance, 0)
        if block < 0 and group >= distance:
            block = first_of(view, plane, group - distance, 0)
        distance += 1
    return block if block < 0 else _first_sub_block(view, block)


@kernel
def _random_sub_block(view, plane, stream, decision, first_draw):
    """Return the lowest sub-block with unwritten pages of a uniformly random block of the pool.

    It is -1 if the pool is empty.
    """
    params = view.params[0]
    first = plane * params.blocks
    for k in range(_TRIES):
        block = first + below(draw(params.seed, stream, decision, first_draw + k), params.blocks)
        if view.best[block].writable:
            return _first_sub_block(view, block)
    start = below(draw(params.seed, stream, decision, first_draw + _TRIES), params.blocks)
    for k in range(params.blocks):
        block = first + (start + k) % params.blocks
        if view.best[block].writable:
            return _first_sub_block(view, block)
    return np.int64(-1)


@kernel
def _prefetch_random(dev, plane, stream, decision, first_draw):
    """Prefetch the memory of the blocks that are tried first for a page that is placed at random."""
    params = dev.params[0]
    for k in range(_LIKELY_TRIES):
        drawn = below(draw(params.seed, stream, decision, first_draw + k), params.blocks)
        prefetch_block(dev, plane * params.blocks + drawn)


@inlined
def prefetch_host(dev, plane):
    """Prefetch the memory of the block that a host page will probably be placed in."""
    params = dev.params[0]
    control = dev.control[0]
    if params.placement == HOTNESS_GROUPS:
        _prefetch_random(dev, plane, HOST_PLACEMENT_STREAM, control.clock, 0)


@kernel
def _keep_in_open_block(dev, plane, stream, decision, first_draw, lpn, version, valid, relocated):
    """Program a page in the open block of cold pages, or in one that is drawn and kept until it is full.

    A block that the page closes is reclassified; with one that is not valid when that is counted.
    """
    if dev.open_sub_block[plane * MAX_STREAMS + HOST_STREAM] < 0:
        sub = _random_sub_block(dev, plane, stream, decision, first_draw)
        if sub < 0:
            return np.int64(-1)
        open_block(dev, plane, HOST_STREAM, block_of(dev.params[0], sub))
    ppn = np.int64(program(dev, plane, HOST_STREAM, lpn, version, relocated))
    block = block_of(dev.params[0], sub_block_of(dev.params[0], ppn))
    if valid and not dev.block[block].status & OPEN:
        reclassify(dev, block, ANYTHING, 0)
    return ppn


@inlined
def _scatter_by_hotness(dev, plane, group, stream, decision, first_draw, lpn, version, valid, relocated):
    params = dev.params[0]
    if group == 0 and params.keeps_blocks:
        return _keep_in_open_block(dev, plane, stream, decision, first_draw, lpn, version, valid, relocated)
    if group > 0:
        sub = _groups_sub_block(dev, plane, group - 1)
    else:
        sub = _random_sub_block(dev, plane, stream, decision, first_draw)
    ppn = scatter(dev, plane, sub, lpn, version, relocated)
    if ppn >= 0 and valid:
        block = sub // np.int64(params.sub_blocks)
        reclassify(dev, block, PROGRAMMED, sub - block * params.sub_blocks)
    return ppn


@inlined
def _is_first_write(dev, lpn):
    """Return whether the host writes a page that the hotness table does not count: one not mapped yet."""
    return dev.params[0].counts_updates and dev.logical[lpn].ppn < 0


@inlined
def _place_host_by_hotness(dev, plane, lpn, version, valid):
    params = dev.params[0]
    control = dev.control[0]
    first = _is_first_write(dev, lpn)
    group = np.int64(0) if first else count_update(dev, lpn)
    if group > 0:
        dev.counters[0].hot_pages_written += 1
    if params.placement == HOTNESS_GROUPS:
        if first:
            return _keep_in_open_block(
                dev, plane, HOST_PLACEMENT_STREAM, control.clock, 0, lpn, version, valid, False
            )
        return _scatter_by_hotness(
            dev, plane, group, HOST_PLACEMENT_STREAM, control.clock, 0, lpn, version, valid, False
        )
    if group > 0:
        refresh(dev, plane)
        sub = _next_victims_sub_block(dev, plane)
        if sub >= 0:
            return scatter(dev, plane, sub, lpn, version, False)
    return program(dev, plane, HOST_STREAM, lpn, version, False)


@inlined
def _stream_of_hotness(dev, lpn):
    if _is_first_write(dev, lpn):
        return HOST_STREAM
    return HOT_STREAM if hotness_group(dev, lpn) > 0 else HOST_STREAM


@inlined
def note_request(dev, request):
    """Note the request whose page is placed next, for those who decide; `request` may be its slot."""
    control = dev.control[0]
    control.request_lpn = request.lpn
    control.request_pages = request.pages
    control.request_hint = request.hint


@inlined
def note_page(dev, lpn):
    """Note a page that leaves the write buffer as a request of its own, for those who decide."""
    control = dev.control[0]
    control.request_lpn = lpn
    control.request_pages = 1
    control.request_hint = 0


@inlined
def note_written(dev, lpn, slot):
    """Note what a page that is programmed next was written by: its request, or the write buffer."""
    if dev.params[0].buffer_pages > 0:
        note_page(dev, lpn)
    else:
        note_request(dev, slot)


@inlined
def rule_of_host(dev, plane, lpn):
    """Return the stream the device's own placement has for a host page; changes nothing."""
    placement = dev.params[0].placement
    if placement == IN_STREAMS:
        return np.int64(HOST_STREAM)
    if placement == BY_RULE:
        return stream_by(dev, PLACE, plane, lpn, np.int64(-1))
    return np.int64(_stream_of_hotness(dev, lpn) if placement == HOT_COLD else HOST_STREAM)


@inlined
def rule_of_relocated(dev, plane, lpn, source):
    """Return the stream the device's own placement has for a relocated page; changes nothing."""
    placement = dev.params[0].placement
    if placement == BY_RULE:
        return stream_by(dev, PLACE, plane, lpn, source)
    return np.int64(_stream_of_hotness(dev, lpn) if placement == HOT_COLD else dev.params[0].gc_stream)


@inlined
def by_request(dev):
    """Return whether the stream that is named outside for the first page of a request is for all of them.

    Pages that leave a write buffer are of no request.
    """
    return dev.decider.external & WHOLE_REQUESTS != 0 and dev.params[0].buffer_pages == 0


@inlined
def host_stream(dev, plane, lpn, named):
    """Decide the stream of a host page that is programmed next; below 0, see `status_of`.

    `named` is the stream named outside for the whole request that it is of, or -1.
    """
    if is_external(dev, PLACE):
        return np.int64(named) if named >= 0 else request_action(dev, PLACE, plane, lpn)
    return rule_of_host(dev, plane, lpn)


@inlined
def relocated_stream(dev, plane, lpn, source):
    """Decide the stream of a page that is relocated next; below 0, see `status_of`."""
    if is_external(dev, RELOCATE):
        return request_action(dev, RELOCATE, plane, source)
    return rule_of_relocated(dev, plane, lpn, source)


@inlined
def place_host(dev, plane, stream, lpn, version, valid):
    """Program a page of the host in a plane; return its number, -1 when out of space.

    A page that is not `valid` is invalid at once; its block is reclassified where that is counted.
    """
    placement = dev.params[0].placement
    if placement != IN_STREAMS:
        if placement == HOT_COLD:
            dev.counters[0].hot_pages_written += stream == HOT_STREAM
            if not _is_first_write(dev, lpn):
                count_update(dev, lpn)
        elif placement != BY_RULE:
            return _place_host_by_hotness(dev, plane, lpn, version, valid)
    return program(dev, plane, stream, lpn, version, False)


@inlined
def _place_relocated_by_hotness(dev, plane, source, lpn, version):
    params = dev.params[0]
    control = dev.control[0]
    first_draw = 65 * (source % np.int64(params.pages_per_block))
    _prefetch_random(dev, plane, RELOCATION_STREAM, control.rounds, first_draw)
    group = hotness_group(dev, lpn)
    return _scatter_by_hotness(
        dev, plane, group, RELOCATION_STREAM, control.rounds, first_draw, lpn, version, True, True
    )


@inlined
def stream_with_room(dev, plane, stream):
    """Return the stream whose block takes a relocated page: its own, or one nearby where the pool is low.

    The last block of the pool is opened only if no stream has one open. Streams of higher numbers come before
    those of lower ones, and nearer ones first.
    """
    params = dev.params[0]
    if not params.overflows or dev.plane[plane].pool_pages >= 2 * np.int64(params.pages_per_block):
        return np.int64(stream)
    first = plane * MAX_STREAMS
    for other in range(stream, np.int64(params.streams)):
        if dev.open_sub_block[first + other] >= 0:
            return np.int64(other)
    for other in range(stream - 1, -1, -1):
        if dev.open_sub_block[first + other] >= 0:
            return np.int64(other)
    return np.int64(stream)


@inlined
def place_relocated(dev, plane, stream, source, lpn, version):
    """Program the copy of a page that is at `source`; return its number, -1 when out of space."""
    params = dev.params[0]
    if params.placement == HOTNESS_GROUPS:
        return _place_relocated_by_hotness(dev, plane, source, lpn, version)
    taken = stream_with_room(dev, plane, stream)
    if taken != stream:
        count_overflow(dev, plane, stream)
    return program(dev, plane, taken, lpn, version, True)


@kernel
def _lagging_plane(dev, die_number):
    """Return the plane of a die with room whose row lags most; -1 where none has a row."""
    params, rows = dev.params[0], np.int64(dev.params[0].pages_per_block)
    best, largest, first_row = np.int64(-1), np.int64(0), np.int64(-1)
    for k in range(params.planes_per_die):
        plane = np.int64(plane_from_cursor(dev, die_number, k))
        row = np.int64(row_of(dev, plane, HOST_STREAM)) if has_room(dev, plane) else np.int64(-1)
        if row < 0:
            continue
        if best < 0:
            best, first_row = plane, row
        lag = (first_row - row + rows // 2) % rows - rows // 2  # at most half a block either way
        if lag > largest:
            best, largest = plane, lag
    return best


@inlined
def plane_for_host(dev, die_number):
    """Return the plane of a die for the next page of the host, -1 for none (dynamic and late allocation)."""
    plane = allocate_plane(dev, die_number)
    if dev.params[0].aligned_rows and plane >= 0:
        lagging = np.int64(_lagging_plane(dev, die_number))
        return lagging if lagging >= 0 else plane
    return plane
