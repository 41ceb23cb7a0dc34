"""Features of merges: of the bundle to merge, and of each plan, a way to merge the bundle.

A plan is a Merge, which copies valid pages to other blocks and erases whole blocks, or an M-Merge, which
erases only parts of blocks (see `ssdgym.envs.MergePlanEnv`). The smallest parts of blocks are sub-blocks.
"""

from __future__ import annotations

from math import log2, sqrt

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.core.records import POOL
from ssdgym.enums import BlockKind, MergePace
from ssdgym.envs.features.registry import Setting, always, clip, feature


@inlined
def _ratio(part, whole):
    """Return log2((part + 1) / (whole + 1)), clipped to -16 and 16."""
    return clip(log2((part + 1.0) / (whole + 1.0)), -16.0, 16.0)


@inlined
def _erases_of_plane(view, plane):
    """Return the mean and standard deviation of the erases of the smallest parts of a plane's blocks."""
    leaves = view.params[0].blocks * view.params[0].sub_blocks
    total, squares = 0.0, 0.0
    for sub in range(plane * leaves, (plane + 1) * leaves):
        erases = float(view.sub_block[sub].erases)
        total += erases
        squares += erases * erases
    mean = total / leaves
    return mean, sqrt(max(squares / leaves - mean * mean, 0.0))


def _disturbs(device: DeviceConfig) -> bool:
    return BlockFtl.of(device.ftl).disturb_tolerance is not None


def _of_disturbance(setting: Setting) -> bool:
    """Return whether an erase of a part can destroy data in neighbouring parts."""
    return setting.has(_disturbs)


def _has_superblocks(setting: Setting) -> bool:
    """Return whether Merges differ in cost, as with superblocks. With nftl, each copies about one block."""
    return setting.has(lambda device: BlockFtl.of(device.ftl).kind == BlockKind.SUPERBLOCK)


def _pools_vary(setting: Setting) -> bool:
    """Return whether the number of free blocks differs between merges."""
    return _has_superblocks(setting) or setting.has(
        lambda device: BlockFtl.of(device.ftl).gc.merges == MergePace.SPREAD
    )


def _levels_differ(setting: Setting) -> bool:
    """Return whether devices differ in the number of sub-blocks per block."""
    return len({device.geometry.sub_blocks_per_block for device in setting.devices}) > 1


@feature(unit="factors of two", low=-8.0, high=24.0, default=always)
def plan_cost(view, plan, bundle):
    """Return log2(nominal time of the plan / time of a page program)."""
    return clip(log2((plan.cost_ns + 1.0) / max(view.params[0].program_ns, 1)), -8.0, 24.0)


@feature(unit="factors of two", low=-16.0, high=16.0, default=_has_superblocks)
def plan_cost_ratio(view, plan, bundle):
    """Return log2(nominal time of the plan / nominal time of a Merge)."""
    return _ratio(plan.cost_ns, bundle.merge_ns)


@feature(unit="blocks", high=64.0, default=always)
def plan_copies(view, plan, bundle):
    """Return the number of pages that the plan copies, divided by the pages per block."""
    return clip(plan.copies / bundle.block_pages, 0.0, 64.0)


@feature(unit="blocks", high=64.0, default=always)
def plan_out_copies(view, plan, bundle):
    """Return the pages that the plan copies out of parts before it erases the parts / pages per block."""
    return clip(plan.out_copies / bundle.block_pages, 0.0, 64.0)


@feature(unit="factors of two", high=16.0, default=always)
def plan_erases(view, plan, bundle):
    """Return log2(erases of the plan + 1)."""
    return clip(log2(plan.erases + 1.0), 0.0, 16.0)


@feature(unit="factors of two", low=-16.0, high=16.0, default=always)
def plan_erase_time(view, plan, bundle):
    """Return log2(time of the plan's erases / time of erasing a block)."""
    return _ratio(plan.erase_ns, bundle.block_erase_ns)


@feature(unit="factors of two", high=16.0, default=_of_disturbance)
def plan_restored(view, plan, bundle):
    """Return log2(1 + number of smallest parts that the plan erases only because of disturbance)."""
    return clip(log2(plan.restored + 1.0), 0.0, 16.0)


@feature(unit="factors of two", high=16.0, default=_of_disturbance)
def plan_at_tolerance(view, plan, bundle):
    """Return log2(1 + smallest parts that lose data if, after the plan, a neighbour is erased once more)."""
    return clip(log2(plan.at_tolerance + 1.0), 0.0, 16.0)


@feature(default=always)
def plan_is_merge(view, plan, bundle):
    """Return 1 if the plan is the Merge, 0 if it is an M-Merge."""
    return 1.0 if plan.number == 0 else 0.0


@feature(default=always)
def plan_is_cheapest(view, plan, bundle):
    """Return 1 if the plan is the M-Merge that erases the cheapest parts of any size, else 0."""
    return 1.0 if plan.number == bundle.levels + 2 else 0.0


@feature(default=always)
def plan_depth(view, plan, bundle):
    """Return l / L if the plan erases parts of one size, blocks halved l times of at most L times; else 0."""
    return max(plan.depth, 0) / max(bundle.levels, 1)


@feature(default=always)
def cause_pool(view, bundle):
    """Return 1 if the merge is due because a free block is needed, 0 if the bundle's blocks are full."""
    return 1.0 if bundle.cause == POOL else 0.0


@feature(default=_levels_differ)
def bundle_levels(view, bundle):
    """Return log2(sub-blocks per block) / 6."""
    return bundle.levels / 6.0


@feature(default=always)
def bundle_m_merges(view, bundle):
    """Return the number of the bundle's M-Merges since its last Merge / the number allowed between Merges."""
    return clip(bundle.since_merge / max(bundle.limit, 1), 0.0, 1.0)


@feature(low=-1.0, default=_has_superblocks)
def bundle_valid(view, bundle):
    """Return 2 v - 1, where v is the valid share of the pages of the bundle's blocks."""
    pages = max(bundle.blocks, 1) * bundle.block_pages
    return clip(2.0 * bundle.valid / pages - 1.0, -1.0, 1.0)


@feature(default=always)
def bundle_invalid(view, bundle):
    """Return the invalid share of the pages of the bundle's blocks."""
    return clip(bundle.invalid / (max(bundle.blocks, 1) * bundle.block_pages), 0.0, 1.0)


@feature(default=_pools_vary)
def waiting_bundles(view, bundle):
    """Return log2(1 + number of other bundles of the plane that could be merged) / 16."""
    return clip(log2(bundle.waiting + 1.0) / 16.0, 0.0, 1.0)


@feature(unit="factors of two", low=-16.0, high=16.0, default=_pools_vary)
def free_blocks(view, bundle):
    """Return log2(free blocks of the plane / number of free blocks at which merges begin)."""
    return _ratio(bundle.free_blocks, bundle.kept_blocks)


@feature(unit="factors of two", low=-16.0, high=16.0, default=always)
def bundle_wear(view, bundle):
    """Return log2(mean erases of the smallest parts of the bundle's blocks / mean erases in the plane)."""
    mean, _ = _erases_of_plane(view, bundle.plane)
    return _ratio(bundle.mean_erases, mean)


@feature(unit="factors of two", low=-16.0, high=16.0, default=always)
def bundle_wear_spread(view, bundle):
    """Return log2(standard deviation of erases of the bundle's smallest parts / mean erases in the plane)."""
    mean, _ = _erases_of_plane(view, bundle.plane)
    return _ratio(bundle.spread, mean)


@feature(unit="factors of two", low=-16.0, high=16.0, default=always)
def plane_wear_spread(view, bundle):
    """Return log2(standard deviation / mean of the erases of the smallest parts of the plane's blocks)."""
    mean, spread = _erases_of_plane(view, bundle.plane)
    return _ratio(spread, mean)
