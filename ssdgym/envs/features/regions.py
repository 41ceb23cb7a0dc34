"""Features of small writes: of the two areas that data can go to (a *way* is the choice of one), and of data.

`ssdgym.envs.SubpageRegionEnv` explains the words region, main area, group, sector, pass and advance.
"""

from __future__ import annotations

from math import log2

from ssdgym.config.subpage import SubpageFtl
from ssdgym.envs.features.registry import Setting, always, clip, feature


def _flushes(setting: Setting) -> bool:
    return "FLUSHES" in setting.kinds


def _collected(setting: Setting) -> bool:
    return "COLLECTED" in setting.kinds


def _differ(setting: Setting) -> bool:
    """Return whether the regions of the devices differ in size."""
    shapes = [(SubpageFtl.of(device.ftl), device.geometry) for device in setting.devices]
    return len({ftl.region_blocks_of(geometry) * geometry.pages_per_block for ftl, geometry in shapes}) > 1


@feature(low=-1.0, default=always)
def way_number(view, way, sector):
    """Return 1 if the area is the region, -1 if it is the main area."""
    return 2.0 * way.number - 1.0


@feature(unit="programs", high=16.0, default=always)
def way_time(view, way, sector):
    """Return the nominal time of a write to this area now, in page programs."""
    return clip(way.nominal_ns / max(view.params[0].program_ns, 1), 0.0, 16.0)


@feature(default=always)
def way_bytes(view, way, sector):
    """Return the bytes that a write to this area programs now, in units of a flash page."""
    return clip(way.programmed / sector.slots, 0.0, 1.0)


@feature(default=always)
def way_reads(view, way, sector):
    """Return the number of pages to read before the write, divided by the sectors of a group."""
    return clip(way.reads / sector.slots, 0.0, 1.0)


@feature(low=-1.0, default=always)
def way_room(view, way, sector):
    """Return 2 f - 1, where f is the share of the open block's pages that this pass has not yet reached."""
    return clip(2.0 * way.room / sector.block_pages - 1.0, -1.0, 1.0)


@feature(default=always)
def way_in_the_way(view, way, sector):
    """Return the share of the pass's remaining pages with a subpage to advance first; 0 for the main area."""
    return clip(way.in_the_way / max(way.room, 1), 0.0, 1.0)


@feature(low=-1.0, default=always)
def way_valid(view, way, sector):
    """Return 2 u - 1, where u = pages of the area with valid data / largest number of such pages."""
    return clip(2.0 * way.valid / max(way.pages, 1) - 1.0, -1.0, 1.0)


@feature(default=lambda setting: _flushes(setting) and _collected(setting))
def asks_collected(view, sector):
    """Return 1 if the decision is about a subpage of a collected block, 0 if about data in the buffer."""
    return 1.0 if sector.collected else 0.0


@feature(default=_flushes)
def sector_leaving(view, sector):
    """Return the share of the group that leaves the write buffer; 0 for a subpage of a collected block."""
    return 0.0 if sector.collected else sector.sectors / sector.slots


@feature(default=always)
def sector_in_region(view, sector):
    """Return the share of the group that is in a region, not counting the sectors to be decided about."""
    return sector.in_region / sector.slots


@feature(default=always)
def sector_updated(view, sector):
    """Return which share of the sectors to be decided about were in a region when the host wrote them."""
    return clip(sector.updated / max(sector.sectors, 1), 0.0, 1.0)


@feature(unit="factors of four", low=-8.0, high=8.0, default=always)
def sector_writes(view, sector):
    """Return log4((a + 1) / (b + 1)): mean writes a of the sectors to be decided about, b of all sectors."""
    mean = view.control[0].clock / view.params[0].logical_pages + 1.0
    own = sector.writes / max(sector.sectors, 1) + 1.0
    return clip(log2(own / mean) / 2.0, -8.0, 8.0)


@feature(low=-1.0, default=always)
def region_passes(view, sector):
    """Return 2 p - 1, where p is the share of the region's passes that are left before it must be erased."""
    return clip(2.0 * sector.passes / max(sector.most_passes, 1) - 1.0, -1.0, 1.0)


@feature(default=_collected)
def collection_kept(view, sector):
    """Return the number of subpages that this collection has kept / the number that it may keep."""
    return clip(sector.kept / max(sector.most_kept, 1), 0.0, 1.0)


@feature(default=_collected)
def collection_left(view, sector):
    """Return the number of valid subpages left in the collected block / pages of a block."""
    return clip(sector.left / sector.block_pages, 0.0, 1.0)


@feature(default=_differ)
def log_region_pages(view, sector):
    """Return log2(pages of the plane's region) / 32."""
    return log2(sector.region_pages + 1.0) / 32.0
