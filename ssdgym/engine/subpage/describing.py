"""Observations of REGION decisions: the two answers, main area and region, and the data to program.

A feature is a function of records that are filled here. The observer is compiled at its first use.
"""

import numpy as np

from ssdgym.engine.allocation import allocate_die, plane_from_cursor
from ssdgym.engine.core.bits import lowest_of
from ssdgym.engine.core.kernel import inlined, kernel
from ssdgym.engine.decisions import REGION
from ssdgym.engine.flash import duration_of, read_phases, write_phases
from ssdgym.engine.observation import describer, describing_kernel, mark_pick, note_decision
from ssdgym.engine.subpage.buffer import group_of
from ssdgym.engine.subpage.pages import age_h, count_sectors, in_region, mapped_of, page_of, together
from ssdgym.engine.subpage.passes import open_page
from ssdgym.engine.subpage.queues import move_phases, subpage_phases
from ssdgym.engine.subpage.region import most_kept
from ssdgym.engine.subpage.state import ARRAYS

#: The answers: program the whole group to the main area; program the sectors to the region.
_MAIN, _REGION = range(2)
_WAYS = 2
_describe = describing_kernel("way", "sector")


@inlined
def _mask_of(dev, lpn, collected):
    """Return the mask of the sectors that the decision is about: only `lpn` if a subpage is collected."""
    if collected:
        return np.int64(1) << (lpn - group_of(dev, lpn) * dev.subpage[0].slots)
    return np.int64(dev.buffer[0].leaving)


@inlined
def _count_in_region(dev, group, mask):
    """Count those sectors in a mask of a group whose present copy is in a region."""
    count = np.int64(0)
    while mask != 0:
        slot = np.int64(dev.logical[group * dev.subpage[0].slots + lowest_of(mask)].ppn)
        count += slot >= 0 and in_region(dev, page_of(dev, slot))
        mask &= mask - 1
    return count


@inlined
def _writes_of(dev, group, mask):
    """Return how many writes and trims of the sectors of a mask have been admitted."""
    writes = np.int64(0)
    while mask != 0:
        lpn = group * dev.subpage[0].slots + lowest_of(mask)
        writes += dev.logical[lpn].version + dev.in_flight[lpn]
        mask &= mask - 1
    return writes


@kernel
def _look_at_group(dev, lpn, collected, seen):
    """Describe the sectors that the decision is about, and the other sectors of their group."""
    group = np.int64(group_of(dev, lpn))
    decided, mapped = _mask_of(dev, lpn, collected), np.int64(mapped_of(dev, group))
    slot = np.int64(dev.logical[lpn].ppn)
    in_regions = _count_in_region(dev, group, decided)
    seen.lpn = lpn
    seen.collected = collected
    seen.slots = dev.subpage[0].slots
    seen.sectors = count_sectors(decided)
    seen.others = count_sectors(mapped & ~decided)
    seen.in_region = _count_in_region(dev, group, mapped & ~decided)
    seen.updated = np.int64(dev.updated[lpn]) if collected else in_regions
    seen.writes = _writes_of(dev, group, decided)
    mask = mapped if collected else mapped & ~decided
    pages = np.int64(0)
    while mask != 0:
        pages += 1
        mask &= ~np.int64(together(dev, group, mask))
    seen.pages = pages
    seen.evicting = dev.evicting[group]
    seen.slot = slot
    seen.age_h = age_h(dev, page_of(dev, slot)) if slot >= 0 else np.int64(0)


@kernel
def _look_at_region(dev, plane, seen):
    """Describe the contents of the region of a plane, and the progress of its collection."""
    subpage, region = dev.subpage[0], dev.region[plane]
    blocks = np.int64(subpage.region_blocks)
    seen.plane = plane
    seen.block_pages = subpage.block_pages
    seen.region_pages = blocks * subpage.block_pages
    seen.most_passes = blocks * subpage.passes
    seen.region_valid = 0
    seen.passes = seen.most_passes
    for k in range(plane * blocks, (plane + 1) * blocks):
        held = dev.region_block[dev.member[k]]
        seen.region_valid += held.valid
        seen.passes -= held.passes
    seen.kept = region.kept if seen.collected else np.int64(0)
    seen.most_kept = most_kept(dev)
    seen.left = dev.region_block[region.victim].valid if region.victim >= 0 else np.int64(0)
    seen.waiting = dev.buffer[0].count
    seen.places = subpage.buffer_groups


@inlined
def _look_at_main(dev, seen, way):
    """Describe the answer to program the whole group to the main area; it costs 0 if that is under way."""
    params, plane = dev.params[0], dev.plane[seen.plane]
    way.number = _MAIN
    if seen.evicting and seen.collected:
        way.nominal_ns, way.reads, way.programmed, way.wasted = 0, 0, 0, 0
    else:
        read_ns = np.int64(duration_of(read_phases(params)))
        way.nominal_ns = seen.pages * read_ns + np.int64(duration_of(write_phases(params, 1)))
        way.reads = seen.pages
        way.programmed = seen.slots
        way.wasted = seen.slots - seen.sectors - seen.others
    way.room = plane.free_pages - plane.pool_pages
    way.in_the_way = 0
    way.valid = plane.valid
    way.pages = params.valid_limit


@inlined
def _look_at_way_in(dev, seen, way):
    """Describe the answer to program the sectors to the region."""
    subpage, region = dev.subpage[0], dev.region[seen.plane]
    pages = np.int64(subpage.block_pages)
    way.number = _REGION
    each_ns = duration_of(move_phases(dev)) if seen.collected else duration_of(subpage_phases(dev))
    way.nominal_ns = seen.sectors * np.int64(each_ns)
    way.reads = seen.collected
    way.programmed = seen.sectors
    way.wasted = way.room = way.in_the_way = 0
    if region.open >= 0:
        way.room = pages - dev.region_block[region.open].next_page
        count = np.int64(0)
        for page in range(open_page(dev, seen.plane), (region.open + 1) * pages):
            count += dev.page_valid[page]
        way.in_the_way = count
    way.valid = seen.region_valid
    way.pages = seen.region_pages


def _observe(dev, spec, view, plane):
    """Describe the choice between region and main area; the device does not change."""
    view.features[:] = np.float32(0.0)
    view.mask[:] = 1
    seen = spec.sector[0]
    here = np.int64(dev.buffer[0].collected_plane)
    collected = here >= 0
    if not collected:  # data from the buffer is bound to no plane yet: describe the plane that is next
        here = np.int64(plane_from_cursor(dev, np.int64(allocate_die(dev)), 0))
    # At the horizon, without a decision, describe sector 0.
    subject = np.int64(dev.control[0].decision_subject if dev.control[0].decision_kind == REGION else 0)
    _look_at_group(dev, subject, np.int64(collected), seen)
    _look_at_region(dev, here, seen)
    _look_at_main(dev, seen, spec.ways[_MAIN])
    _look_at_way_in(dev, seen, spec.ways[_REGION])
    note_decision(dev, REGION, here, _WAYS, view.taken, spec.decision[0])
    # Mark the answer of the engine's rule.
    mark_pick(view, 0, seen.updated if seen.collected else np.int64(_REGION), spec.way_columns[0])
    rows, about, place = spec.way_features, spec.sector_features, spec.context_features.shape[0]
    _describe(dev, spec, dev.decider.victim_view, rows, 0, spec.ways, _WAYS, about, place, seen, view)


#: Returns the address of the observer of REGION decisions, which the first call compiles.
region_describer = describer(_observe, ARRAYS)
