"""Features of a candidate: an erase set ("the set") or, in decisions about levelling, a closed block.

Constants in the formulas bring the usual values of victims on a full device near 0. "Host pages since" an
event are pages that the host has written after the event. log4 is the logarithm to base 4. The sum
`log_benefit + log_age` ranks candidates as cost-benefit does, and `log_benefit` nearly as greedy does.
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
    """Return whether candidates can differ in their number of pages."""
    several_planes = setting.has(lambda device: device.multi_plane != "none")
    return setting.most_blocks > 1 or setting.has(_sub_blocks) or several_planes


def _separated(device: DeviceConfig) -> bool:
    """Return whether the placement is `sep_gc`: a stream for host pages, and one for relocated pages."""
    return getattr(device.ftl, "placement", "") == "sep_gc"


@feature(low=-1.0, default=always)
def valid_fraction(view, candidate, decision):
    """Return 2 u - 1, where u is the share of the set's written pages that are valid."""
    return 2.0 * candidate.valid / max(candidate.written, 1) - 1.0


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_benefit(view, candidate, decision):
    """Return log4(invalid pages / (valid pages + 0.5)) + 1, of the pages in the set."""
    return clip(log2(max(candidate.invalid, 0.5) / (candidate.valid + 0.5)) / 2.0 + 1.0, -8.0, 8.0)


@inlined
def _log_age(view, since, part):
    """Return log4(part * age / logical pages): age = host pages written since the clock was `since`."""
    age = (view.control[0].clock - since + 1.0) / view.params[0].logical_pages
    return clip(log2(part * age) / 2.0, -8.0, 8.0)


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_age(view, candidate, decision):
    """Return log4(100 h / logical pages): h = host pages since the last invalidation in the set's blocks."""
    return _log_age(view, candidate.invalidated_at, 100.0)


@feature(unit=_LOG, low=-8.0, high=8.0, default=always)
def log_age_closed(view, candidate, decision):
    """Return log4(10 h / logical pages): h = host pages since the last of the set's blocks was closed."""
    return _log_age(view, candidate.closed_at, 10.0)


@feature(low=-1.0)
def block_stream(view, candidate, decision):
    """Return 2 k / (S - 1) - 1, where the set's first block belongs to stream k of S streams."""
    return 2.0 * view.block[candidate.block[0]].stream / max(view.params[0].streams - 1, 1) - 1.0


@inlined
def _log_rate(view, updates, pages):
    """Return log4((updates per page + 0.5) / (mean updates of a logical page + 0.5))."""
    mean = view.control[0].clock / view.params[0].logical_pages
    return clip(log2((updates / max(pages, 1) + 0.5) / (mean + 0.5)) / 2.0, -4.0, 4.0)


@feature(unit=_LOG, low=-4.0, high=4.0, samples_pages=True)
def log_update_rate(view, candidate, decision):
    """Return log4((a + 0.5) / (b + 0.5)): mean writes a of sampled valid pages, b of all pages; 0 if none."""
    return _log_rate(view, candidate.updates, candidate.sampled) if candidate.sampled > 0 else 0.0


@feature(unit=_LOG, low=-4.0, high=4.0, samples_pages=True)
def log_neighbour_rate(view, candidate, decision):
    """Return `log_update_rate` of the other pages in the sampled pages' aligned groups of four; 0 if none."""
    pages = candidate.neighbours
    return _log_rate(view, candidate.neighbour_updates, pages) if pages > 0 else 0.0


@feature(unit="ratio", low=-2.0, high=2.0, default=always)
def wear(view, candidate, decision):
    """Return 2 (e - m) / (m + 1), with e = mean erases of the set's sub-blocks, m = mean of all candidates.

    In decisions about levelling, m is the mean of all sub-blocks of the plane.
    """
    erases = candidate.erases / candidate.sub_blocks
    return clip(2.0 * (erases - decision.mean_erases) / (decision.mean_erases + 1.0), -2.0, 2.0)


def _wears_out(setting: Setting) -> bool:
    """Return whether the cells of all devices wear out."""
    return not setting.has(lambda device: device.cells is None)


@feature(unit=_LOG, low=-8.0, high=8.0, fits=_wears_out)
def log_wear_gap(view, candidate, decision):
    """Return log4((erases of the most worn free block - mean erases of the set) / erases left to that block).

    The erases left are the mean endurance minus the block's erases since its life began, at least 1/40 of the
    mean endurance. The feature is -8 if the plane has no free block.
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
    """Return 2 s - 1, where s is the share of the set's blocks in the stream of relocated pages."""
    return 2.0 * candidate.relocated / candidate.pairs - 1.0


@feature(unit="blocks", high=MAX_PAIRS, default=_of_several_sizes)
def moves(view, candidate, decision):
    """Return the number of the set's pages to relocate, divided by the pages per block."""
    return candidate.valid / view.params[0].pages_per_block


@feature(unit="blocks", high=MAX_PAIRS)
def gain(view, candidate, decision):
    """Return the number of the set's invalid pages, divided by the pages per block."""
    return candidate.invalid / view.params[0].pages_per_block


@feature(unit="blocks", high=MAX_PAIRS, default=_of_several_sizes)
def share(view, candidate, decision):
    """Return the number of the set's sub-blocks, divided by the sub-blocks per block."""
    return candidate.sub_blocks / view.params[0].sub_blocks


@feature(
    unit="blocks",
    high=MAX_PAIRS,
    default=lambda setting: setting.has(lambda device: device.isolation == "software"),
)
def neighbour_moves(view, candidate, decision):
    """Return the number of pages to relocate from sub-blocks beside the set, divided by pages per block."""
    return candidate.beside / view.params[0].pages_per_block


@feature(default=lambda setting: setting.has(_sub_blocks))
def spent(view, candidate, decision):
    """Return the share of the set's sub-blocks whose pages are all invalid."""
    return candidate.spent / candidate.sub_blocks


@feature(unit=_LOG, low=-8.0, high=8.0, default=lambda setting: setting.has(_sub_blocks))
def log_recycle_benefit(view, candidate, decision):
    """Return log4(invalid pages * time of one relocation / time of relocating and erasing the set) + 1."""
    params = view.params[0]
    cost = (candidate.valid + candidate.beside) * params.copy_cost + params.erase_cost
    return clip(log2(max(candidate.invalid, 0.5) * params.copy_cost / max(cost, 1)) / 2.0 + 1.0, -8.0, 8.0)
