"""Where a page goes: to the open block of a stream, or scattered to a block by how hot the page is.

``hotness_groups`` is Algorithm 2 of SpeedupGC with its relocation strategy (sections III-C and III-D), and
``hot_to_victims`` its GSM+ (section II-B).
"""

from __future__ import annotations

import numpy as np

from ssdgym.engine.blocks.lists import enter_index, leave_pool
from ssdgym.engine.blocks.manager import note_program, prefetch_block, program
from ssdgym.engine.core.bits import full_mask
from ssdgym.engine.core.kernel import inlined, kernel, merged
from ssdgym.engine.core.records import HOT_COLD, HOTNESS_GROUPS, IN_STREAMS, INDEXED
from ssdgym.engine.core.rng import HOST_PLACEMENT_STREAM, RELOCATION_STREAM, below, draw
from ssdgym.engine.speedupgc.best_sets import best_target, first_writable, mark_dirty, refresh
from ssdgym.engine.speedupgc.groups import PROGRAMMED, first_of, reclassify
from ssdgym.engine.speedupgc.hotness import count_update, hotness_group
from ssdgym.engine.speedupgc.records import group_view, set_view

HOST_STREAM, HOT_STREAM = 0, 1
_TRIES = 64
_LIKELY_TRIES = 2


@inlined
def _scatter(dev, geometry, run, plane_number, unit, lpn, version, relocated):
    """Program the next page of a sub-block of a block in the pool; returns its number, -1 for no sub-
    block.
    """
    if unit < 0:
        return np.int64(-1)
    sub_block = dev.sub_block[unit]
    ppn = unit * geometry.pages_per_sub_block + sub_block.written
    page = dev.physical[ppn]
    page.lpn = lpn
    page.version = version
    sub_block.written += 1
    block = unit // np.int64(geometry.sub_blocks)
    record = dev.block[block]
    record.written += 1
    note_program(dev, run, block, relocated)
    plane = dev.plane[plane_number]
    plane.free_pages -= 1
    plane.pool_pages -= 1
    if record.status & INDEXED:
        mark_dirty(dev, geometry, block)
    else:
        enter_index(dev, geometry, block)
    if record.written == geometry.pages_per_block:
        record.closed_at = run.clock
        leave_pool(dev, geometry, block)
    return ppn


@inlined
def _first_unit(view, geometry, block):
    """The lowest sub-block of a block with unwritten pages, where groups are kept."""
    return block * geometry.sub_blocks + np.int64(view.best[block].first)


@kernel
def _next_victims_unit(view, plane):
    """The sub-block a page goes to that is to be erased soon (GSM+); -1 if nothing is."""
    geometry = view.geometry[0]
    block = best_target(view, geometry, plane)
    if block < 0:
        return block
    unit = first_writable(view, geometry, block, view.best[block].mask)
    if unit >= 0:
        return unit
    return first_writable(view, geometry, block, full_mask(geometry.sub_blocks))


@inlined
def _groups_unit(view, plane, group):
    """The sub-block for a hot page of a hotness group, counted from 0 (Algorithm 2); -1 without a free
    page.
    """
    geometry = view.geometry[0]
    block = first_of(view, geometry, plane, group, 1)
    if block >= 0:
        return first_writable(view, geometry, block, view.best[block].mask)
    block = first_of(view, geometry, plane, group, 0)
    distance = 1
    while block < 0 and distance < geometry.groups:
        if group + distance < geometry.groups:
            block = first_of(view, geometry, plane, group + distance, 0)
        if block < 0 and group >= distance:
            block = first_of(view, geometry, plane, group - distance, 0)
        distance += 1
    return block if block < 0 else _first_unit(view, geometry, block)


@inlined
def _random_unit(view, plane, stream, decision, first_draw):
    """The lowest sub-block with unwritten pages of a uniformly random block of the pool; -1 if that is
    empty.
    """
    geometry = view.geometry[0]
    first = plane * geometry.blocks
    for k in range(_TRIES):
        block = first + below(draw(geometry.seed, stream, decision, first_draw + k), geometry.blocks)
        if view.best[block].writable:
            return _first_unit(view, geometry, block)
    start = below(draw(geometry.seed, stream, decision, first_draw + _TRIES), geometry.blocks)
    for k in range(geometry.blocks):
        block = first + (start + k) % geometry.blocks
        if view.best[block].writable:
            return _first_unit(view, geometry, block)
    return np.int64(-1)


@inlined
def _prefetch_random(dev, geometry, plane, stream, decision, first_draw):
    """A page will be placed soon, at random if it is cold: the first blocks that are tried will be needed."""
    for k in range(_LIKELY_TRIES):
        drawn = below(draw(geometry.seed, stream, decision, first_draw + k), geometry.blocks)
        prefetch_block(dev, geometry, plane * geometry.blocks + drawn)


@merged
def prefetch_host(dev, geometry, run, plane):
    """A page of the host will be placed soon: what is kept about its block will be needed."""
    if geometry.placement == HOTNESS_GROUPS:
        _prefetch_random(dev, geometry, plane, HOST_PLACEMENT_STREAM, run.clock, 0)


@merged
def _scatter_by_hotness(
    dev, geometry, run, plane, group, stream, decision, first_draw, lpn, version, valid, relocated
):
    view = group_view(dev)
    if group > 0:
        unit = _groups_unit(view, plane, group - 1)
    else:
        unit = _random_unit(view, plane, stream, decision, first_draw)
    ppn = _scatter(dev, geometry, run, plane, unit, lpn, version, relocated)
    if ppn >= 0 and valid:
        block = unit // np.int64(geometry.sub_blocks)
        reclassify(dev, geometry, block, PROGRAMMED, unit - block * geometry.sub_blocks)
    return ppn


@merged
def _place_host_by_hotness(dev, plane, lpn, version, valid):
    geometry = dev.geometry[0]
    run = dev.run[0]
    group = count_update(dev, geometry, run, lpn)
    if group > 0:
        run.hot_pages_written += 1
    if geometry.placement == HOTNESS_GROUPS:
        return _scatter_by_hotness(
            dev, geometry, run, plane, group, HOST_PLACEMENT_STREAM, run.clock, 0, lpn, version, valid, False
        )
    if group > 0:
        refresh(dev, geometry, plane)
        unit = _next_victims_unit(set_view(dev), plane)
        if unit >= 0:
            return _scatter(dev, geometry, run, plane, unit, lpn, version, False)
    return program(dev, geometry, run, plane, HOST_STREAM, lpn, version, False)


@inlined
def host_stream(dev, geometry, lpn):
    """The stream of a page of the host, where that is known before it is written."""
    if geometry.placement == HOT_COLD and hotness_group(dev, geometry, lpn) > 0:
        return HOT_STREAM
    return HOST_STREAM


@inlined
def relocated_stream(dev, geometry, lpn):
    """The stream of a relocated page, where pages go to streams."""
    if geometry.placement == HOT_COLD:
        return host_stream(dev, geometry, lpn)
    return np.int64(geometry.gc_stream)


@inlined
def _place_hot_or_cold(dev, geometry, run, plane, lpn, version):
    stream = host_stream(dev, geometry, lpn)
    run.hot_pages_written += stream == HOT_STREAM
    count_update(dev, geometry, run, lpn)
    return program(dev, geometry, run, plane, stream, lpn, version, False)


@merged
def place_host(dev, geometry, run, plane, lpn, version, valid):
    """Program a page of the host in a plane; returns its number, -1 when out of space.

    A page that is not ``valid`` is dead at birth; its block is reclassified by who counts it as invalid.
    """
    if geometry.placement == IN_STREAMS:
        return program(dev, geometry, run, plane, HOST_STREAM, lpn, version, False)
    if geometry.placement == HOT_COLD:
        return _place_hot_or_cold(dev, geometry, run, plane, lpn, version)
    return _place_host_by_hotness(dev, plane, lpn, version, valid)


@merged
def _place_relocated_by_hotness(dev, plane, source, lpn, version):
    geometry = dev.geometry[0]
    run = dev.run[0]
    first_draw = 65 * (source % np.int64(geometry.pages_per_block))
    _prefetch_random(dev, geometry, plane, RELOCATION_STREAM, run.rounds, first_draw)
    group = hotness_group(dev, geometry, lpn)
    return _scatter_by_hotness(
        dev, geometry, run, plane, group, RELOCATION_STREAM, run.rounds, first_draw, lpn, version, True, True
    )


@merged
def place_relocated(dev, geometry, run, plane, source, lpn, version):
    """Program the copy of a page that is at ``source``; returns its number, -1 when out of space."""
    if geometry.placement == HOTNESS_GROUPS:
        return _place_relocated_by_hotness(dev, plane, source, lpn, version)
    stream = relocated_stream(dev, geometry, lpn)
    return program(dev, geometry, run, plane, stream, lpn, version, True)
