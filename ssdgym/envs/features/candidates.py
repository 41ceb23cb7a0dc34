"""Features of a candidate, centred on what garbage collection sees on a full device.

Logarithms are in steps of a factor of four. So the difference of two is the logarithm of a ratio:
`log_benefit + log_age` orders candidates as cost-benefit does, `log_benefit` alone nearly as greedy does.
"""

from __future__ import annotations

from math import log2

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.blocks.wear import erases_of, most_worn_free
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.envs.features.registry import Setting, always, clip, feature

_LOG = "factors of four"


def _sub_blocks(device: DeviceConfig) -> bool:
    return device.erase_unit != "block"


def _of_several_sizes(setting: Setting) -> bool:
    """Return whether candidates differ in their number of pages."""
    return setting.most_blocks > 1 or setting.has(_sub_blocks) or setting.has(_several_planes)


def _several_planes(device: DeviceConfig) -> bool:
    return device.multi_plane != "none"


def _separated(device: DeviceConfig) -> bool:
    """Return whether relocated pages have a stream of their own, and no other rule places pages."""
    return getattr(device.ftl, "placement", "") == "sep_gc"


@feature(low=-1.0, default=always)
def valid_fraction(view, candidate, decision):
    """Return the valid share u of the set's written pages, as 2 u - 1."""
    return 2.0 * candidate.valid / max(candidate.written, 1) - 1.0


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_benefit(view, candidate, decision):
    """Return log4(invalid / (valid + 0.5)) + 1."""
    return clip(log2(max(candidate.invalid, 0.5) / (candidate.valid + 0.5)) / 2.0 + 1.0, -8.0, 8.0)


@inlined
def _log_age(view, since, part):
    """Return log4 of an age in host pages, in units of a part of the logical pages."""
    age = (view.control[0].clock - since + 1.0) / view.params[0].logical_pages
    return clip(log2(part * age) / 2.0, -8.0, 8.0)


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_age(view, candidate, decision):
    """Return log4 of the host pages since the last invalidation in it, in hundredths of the logical pages."""
    return _log_age(view, candidate.invalidated_at, 100.0)


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_age_closed(view, candidate, decision):
    """Return log4 of the host pages since the last of its blocks closed, in tenths of the logical pages."""
    return _log_age(view, candidate.closed_at, 10.0)


@feature(low=-1.0)
def block_stream(view, candidate, decision):
    """Return the number k of the stream of its first block, of S streams, as 2 k / (S - 1) - 1."""
    return 2.0 * view.block[candidate.block[0]].stream / max(view.params[0].streams - 1, 1) - 1.0


@inlined
def _log_rate(view, updates, pages):
    """Return log4 of the updates per page, relative to the mean logical page."""
    mean = view.control[0].clock / view.params[0].logical_pages
    return clip(log2((updates / max(pages, 1) + 0.5) / (mean + 0.5)) / 2.0, -4.0, 4.0)


@feature(unit=_LOG, low=-4.0, high=4.0, samples_pages=True)
def log_update_rate(view, candidate, decision):
    """Return log4 of how often the host has written its valid pages (a sample), in times of the mean page.

    It is 0 without valid pages.
    """
    return _log_rate(view, candidate.updates, candidate.sampled) if candidate.sampled > 0 else 0.0


@feature(unit=_LOG, low=-4.0, high=4.0, samples_pages=True)
def log_neighbour_rate(view, candidate, decision):
    """Return the same of the pages that share an aligned group of four logical pages with them.

    It is 0 without such pages.
    """
    pages = candidate.neighbours
    return _log_rate(view, candidate.neighbour_updates, pages) if pages > 0 else 0.0


@feature(unit="ratio", low=-2.0, high=2.0, default=always)
def wear(view, candidate, decision):
    """Return 2 (e - m) / (m + 1) of the erases e of a sub-block of the set and m of the mean candidate.

    Where wear is levelled, m is that of the plane.
    """
    erases = candidate.erases / candidate.sub_blocks
    return clip(2.0 * (erases - decision.mean_erases) / (decision.mean_erases + 1.0), -2.0, 2.0)


def _wears_out(setting: Setting) -> bool:
    """Return whether the cells of all devices wear out."""
    return not setting.has(lambda device: device.cells is None)


@feature(unit=_LOG, low=-8.0, high=8.0, fits=_wears_out)
def log_wear_gap(view, candidate, decision):
    """Return log4 of (erases of the most worn free block - its own) / (erases left to that block).

    The erases left are those of the mean endurance, and at least a fortieth of it.
    """
    params, worn = view.params[0], most_worn_free(view, decision.plane)
    if worn < 0 or not params.endures:
        return -8.0
    erases, age = erases_of(view, worn) / params.sub_blocks, view.endurance[worn * params.sub_blocks].first
    left = params.mean_endurance - (erases - age)
    gap = erases - candidate.erases / candidate.sub_blocks
    return clip(log2(max(gap, 1e-6) / max(left, params.mean_endurance / 40.0)) / 2.0, -8.0, 8.0)


@feature(low=-1.0, default=lambda setting: setting.has(_separated))
def gc_stream(view, candidate, decision):
    """Return the share of its blocks that hold relocated pages alone, as 2 s - 1."""
    return 2.0 * candidate.relocated / candidate.pairs - 1.0


@feature(unit="blocks", high=MAX_PAIRS, default=_of_several_sizes)
def moves(view, candidate, decision):
    """Return the pages of the set to relocate, in blocks."""
    return candidate.valid / view.params[0].pages_per_block


@feature(unit="blocks", high=MAX_PAIRS)
def gain(view, candidate, decision):
    """Return the invalid pages of the set, in blocks."""
    return candidate.invalid / view.params[0].pages_per_block


@feature(unit="blocks", high=MAX_PAIRS, default=_of_several_sizes)
def share(view, candidate, decision):
    """Return the sub-blocks of the set, in blocks."""
    return candidate.sub_blocks / view.params[0].sub_blocks


@feature(
    unit="blocks",
    high=MAX_PAIRS,
    default=lambda setting: setting.has(lambda device: device.isolation == "software"),
)
def neighbour_moves(view, candidate, decision):
    """Return the pages to relocate from neighbours that are not erased, in blocks."""
    return candidate.beside / view.params[0].pages_per_block


@feature(default=lambda setting: setting.has(_sub_blocks))
def spent(view, candidate, decision):
    """Return the share of the set's sub-blocks whose pages are all invalid."""
    return candidate.spent / candidate.sub_blocks


@feature(unit=_LOG, low=-8.0, high=8.0, default=lambda setting: setting.has(_sub_blocks))
def log_recycle_benefit(view, candidate, decision):
    """Return log4(invalid pages per time to reclaim them, in times of a move) + 1."""
    params = view.params[0]
    cost = (candidate.valid + candidate.beside) * params.copy_cost + params.erase_cost
    return clip(log2(max(candidate.invalid, 0.5) * params.copy_cost / max(cost, 1)) / 2.0 + 1.0, -8.0, 8.0)
