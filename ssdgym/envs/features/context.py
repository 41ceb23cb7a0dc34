"""Features of the context: of the decision, of the plane in which it is due ("the plane"), of the device."""

from __future__ import annotations

from math import log2

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import ERASE, IDLE, PLACE, RELOCATE
from ssdgym.envs.features.registry import Setting, clip, feature
from ssdgym.simulator.families import family_of


def _whole_blocks(setting: Setting) -> bool:
    """Return whether the agent decides about erases, merges or levelling."""
    return bool({"ERASE", "MERGE", "LEVEL"} & set(setting.kinds))


def _of_wear(setting: Setting) -> bool:
    """Return whether the agent decides about levelling."""
    return "LEVEL" in setting.kinds


def _in_time(device: DeviceConfig) -> bool:
    return device.ftl.timing != "none"


def _open_loop(device: DeviceConfig) -> bool:
    return _in_time(device) and device.ftl.queue_depth == 0


def _whole_pages(setting: Setting) -> bool:
    """Return whether the counters of planes count logical pages, in all blocks, on all devices."""
    return not setting.has(lambda device: not family_of(device).counts_pages)


def _victims_are_blocks(setting: Setting) -> bool:
    """Return whether the policies of all devices choose erase sets, not bundles to merge."""
    return not setting.has(lambda device: family_of(device).policy_decision != ERASE)


def _differ(setting: Setting) -> bool:
    """Return whether the devices differ in size."""
    return len({(device.logical_pages, device.geometry) for device in setting.devices}) > 1


def _joint(setting: Setting) -> bool:
    """Return whether the agent takes decisions about erase sets and decisions of another kind."""
    return "ERASE" in setting.kinds and len(setting.kinds) > 1


@feature(default=_joint)
def asks_erase(view, decision):
    """Return 1 if the decision is what to erase, else 0."""
    return 1.0 if decision.kind == ERASE else 0.0


@feature(default=_joint)
def asks_place(view, decision):
    """Return 1 if the decision is where a host page goes, else 0."""
    return 1.0 if decision.kind == PLACE else 0.0


@feature(default=_joint)
def asks_relocate(view, decision):
    """Return 1 if the decision is where a relocated page goes, else 0."""
    return 1.0 if decision.kind == RELOCATE else 0.0


@feature(default=lambda setting: _joint(setting) and "IDLE" in setting.kinds)
def asks_idle(view, decision):
    """Return 1 if the decision is how far an idle die collects, else 0."""
    return 1.0 if decision.kind == IDLE else 0.0


@feature(low=-1.0, default=_whole_blocks)
def host_pages(view, decision):
    """Return 2 log2(1 + h) / log2(1 + pages per block) - 1: h = host pages since the last decision."""
    pages = log2(max(decision.host_pages, 0) + 1.0)
    return clip(2.0 * pages / log2(view.params[0].pages_per_block + 1.0) - 1.0, -1.0, 1.0)


@feature(
    unit="factors of 1.4",
    low=-8.0,
    high=8.0,
    default=lambda setting: setting.has(_in_time) and "REGION" not in setting.kinds,
)
def elapsed(view, decision):
    """Return 2 log2(time since the last decision / time to relocate all pages of a block)."""
    params = view.params[0]
    block = params.pages_per_block * max(params.copy_cost, 1)
    return clip(2.0 * log2((decision.elapsed_ns + 1.0) / block), -8.0, 8.0)


@feature(low=-1.0, default=lambda setting: "ERASE" in setting.kinds, fits=_victims_are_blocks)
def open_room(view, decision):
    """Return 2 f - 1, where f = free pages in the plane's open blocks / (streams * pages per block)."""
    params, plane = view.params[0], view.plane[decision.plane]
    pages = params.streams * params.pages_per_block
    return clip(2.0 * (plane.free_pages - plane.pool_pages) / pages - 1.0, -1.0, 1.0)


@feature(unit="erases", low=0.0, high=64.0, default=_of_wear, fits=_victims_are_blocks)
def wear_spread(view, decision):
    """Return the erases of the plane's most worn sub-block minus those of its least worn, at most 64."""
    params = view.params[0]
    per_plane = params.blocks * params.sub_blocks
    first = decision.plane * per_plane
    fewest = most = view.sub_block[first].erases
    for sub in range(first, first + per_plane):
        fewest = min(fewest, view.sub_block[sub].erases)
        most = max(most, view.sub_block[sub].erases)
    return clip(most - fewest, 0.0, 64.0)


@feature(default=_of_wear)
def pool(view, decision):
    """Return the free pages in the plane's pool, as a share of all pages of the plane."""
    params = view.params[0]
    return view.plane[decision.plane].pool_pages / (params.blocks * params.pages_per_block)


@feature(default=lambda setting: setting.has(_open_loop))
def queue(view, decision):
    """Return log2(number of outstanding requests + 1) / 16."""
    return clip(log2(view.control[0].outstanding + 1.0) / 16.0, 0.0, 1.0)


@feature(default=lambda setting: setting.has(_open_loop))
def queued_writes(view, decision):
    """Return the share of the outstanding requests that are writes; 0 if no request is outstanding."""
    control = view.control[0]
    # Writes that empty the write buffer at a flush are counted as outstanding writes, but not as requests.
    return min(control.outstanding_writes, control.outstanding) / max(control.outstanding, 1)


@feature()
def free(view, decision):
    """Return the free share of the plane's pages."""
    params = view.params[0]
    return view.plane[decision.plane].free_pages / (params.blocks * params.pages_per_block)


@feature(fits=_whole_pages)
def invalid(view, decision):
    """Return the invalid share of the plane's pages."""
    params, plane = view.params[0], view.plane[decision.plane]
    pages = params.blocks * params.pages_per_block
    return (pages - plane.free_pages - plane.valid) / pages


@feature(fits=_victims_are_blocks)
def indexed(view, decision):
    """Return the share of the plane's blocks that may be victims."""
    return view.plane[decision.plane].indexed_blocks / view.params[0].blocks


@feature(default=_differ, fits=_whole_pages)
def utilisation(view):
    """Return logical pages / physical pages that can be written (isolation pages cannot)."""
    params = view.params[0]
    return params.logical_pages / (params.planes * params.blocks * params.pages_per_block)


@feature(unit="factors of two", low=-16.0, high=16.0)
def log_spare(view):
    """Return log2(spare pages / logical pages) + 4."""
    params = view.params[0]
    pages = params.planes * params.blocks * params.pages_per_block
    return clip(log2(max(pages / params.logical_pages - 1.0, 1e-5)) + 4.0, -16.0, 16.0)


@feature(default=_differ)
def log_pages_per_block(view):
    """Return log2(pages per block) / 16."""
    return log2(view.params[0].pages_per_block) / 16.0


@feature(default=_differ)
def log_blocks(view):
    """Return log2(blocks per plane) / 32."""
    return log2(view.params[0].blocks) / 32.0


@feature(default=_differ)
def log_logical_pages(view):
    """Return log2(logical pages) / 32."""
    return log2(view.params[0].logical_pages) / 32.0
