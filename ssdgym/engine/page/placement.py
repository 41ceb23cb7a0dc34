"""Placement of pages: in the open block of a stream, or in a sub-block of a block in the pool."""

import numpy as np

from ssdgym.engine import decisions
from ssdgym.engine.allocation import allocate_plane, has_room, plane_from_cursor
from ssdgym.engine.blocks.manager import count_overflow, invalidate, open_block, program, row_of, scatter
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.core.records import HOST_BY_RULE, IN_STREAMS, MAX_STREAMS
from ssdgym.engine.core.status import ILLEGAL_ANSWER
from ssdgym.engine.decisions import OPENS, PLACE, RELOCATE, TRACKERS, WHOLE_REQUESTS
from ssdgym.engine.flash import block_of

HOST_STREAM = 0


@inlined
def note_request(dev, request):
    """Store, for rules, the request whose page is placed next; `request` is a REQUEST or a SLOT."""
    control = dev.control[0]
    control.request_lpn = request.lpn
    control.request_pages = request.pages
    control.request_hint = request.hint


@inlined
def rule_of_host(dev, plane, lpn):
    """Return the target that the device's placement chooses for a host page; the device does not change."""
    if dev.params[0].placement == IN_STREAMS:
        return np.int64(HOST_STREAM)
    return decisions.target_by(dev, PLACE, plane, lpn, np.int64(-1))


@inlined
def rule_of_relocated(dev, plane, lpn, source):
    """Return the placement's target for a relocated page; the device does not change."""
    if dev.params[0].placement <= HOST_BY_RULE:
        return np.int64(dev.params[0].gc_stream)
    return decisions.target_by(dev, PLACE, plane, lpn, source)


@kernel
def target_of_proposer(dev, plane, lpn, source, number):
    """Return the target that proposer `number` chooses for a page, or ILLEGAL_ANSWER.

    Proposer 0 is the device's placement; the others are the trackers that also choose targets.
    """
    if number == 0:
        return rule_of_relocated(dev, plane, lpn, source) if source >= 0 else rule_of_host(dev, plane, lpn)
    for k in range(TRACKERS, dev.decider.rules.shape[0]):
        if dev.decider.rules[k].choose != 0:
            number -= 1
            if number == 0:
                return np.int64(decisions.target_by(dev, k, plane, lpn, source))
    return np.int64(ILLEGAL_ANSWER)


@inlined
def by_request(dev):
    """Return whether one stream, chosen outside the engine, holds for all pages of a request."""
    return dev.decider.external & WHOLE_REQUESTS != 0


@inlined
def host_stream(dev, plane, lpn, named):
    """Return the target of the host page that is programmed next, or a code below 0 for `status_of`.

    `named` is the target chosen outside the engine for the whole request of the page, or -1.
    """
    if decisions.is_external(dev, PLACE):
        return np.int64(named) if named >= 0 else decisions.request_action(dev, PLACE, plane, lpn)
    return rule_of_host(dev, plane, lpn)


@inlined
def relocated_stream(dev, plane, lpn, source):
    """Return the target of the page that is relocated next, or a code below 0 for `status_of`."""
    if decisions.is_external(dev, RELOCATE):
        return decisions.request_action(dev, RELOCATE, plane, source)
    return rule_of_relocated(dev, plane, lpn, source)


@inlined
def replace_page(dev, lpn, version):
    """Invalidate a host page's old copy before the placement is called, if that may choose sub-blocks."""
    control, logical = dev.control[0], dev.logical[lpn]
    if dev.params[0].targets and control.replaced_lpn == 0 and version > logical.version and logical.ppn >= 0:
        control.replaced_lpn = lpn + 1
        invalidate(dev, control.clock, lpn, np.int64(logical.ppn))


@kernel
def _program_sub_block(dev, plane, target, lpn, version, relocated):
    sub = np.int64(decisions.sub_block_at(target))
    if target < OPENS:
        return np.int64(scatter(dev, plane, sub, lpn, version, relocated))
    open_block(dev, plane, HOST_STREAM, block_of(dev.params[0], sub))
    return np.int64(program(dev, plane, HOST_STREAM, lpn, version, relocated))


@inlined
def place_page(dev, plane, target, lpn, version, relocated):
    """Program a page at a target in a plane; return the physical page, -1 if no block is free."""
    if target >= MAX_STREAMS:
        return _program_sub_block(dev, plane, target, lpn, version, relocated)
    return program(dev, plane, target, lpn, version, relocated)


@inlined
def stream_with_room(dev, plane, stream):
    """Return the stream for a relocated page: its own or, if the pool is low, one with an open block.

    The nearest higher stream with an open block is taken, otherwise the nearest lower one. If no stream has
    an open block, the page's own stream opens a block of the pool.
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
def place_relocated(dev, plane, target, lpn, version):
    """Program the copy of a relocated page; return the copy's physical page, -1 if no block is free."""
    taken = target if target >= MAX_STREAMS else stream_with_room(dev, plane, target)
    if taken != target:
        count_overflow(dev, plane, target)
    return place_page(dev, plane, taken, lpn, version, True)


@kernel
def _lagging_plane(dev, die_number):
    """Return the die's plane with room whose row is farthest behind that of the first such plane; or -1."""
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
