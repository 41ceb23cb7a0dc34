"""Observations of MERGE decisions: the candidates, and the bundle that is merged.

A feature is a function of records that are filled here. The observer is compiled at its first use.
"""

from math import sqrt

import numpy as np

from ssdgym.engine.block.bundles import block_at
from ssdgym.engine.block.plans import AT_DEPTH, MERGE_BLOCKS
from ssdgym.engine.block.state import ARRAYS
from ssdgym.engine.core.kernel import kernel
from ssdgym.engine.decisions import MERGE, merge_by
from ssdgym.engine.observation import describer, describing_kernel, mark_pick, note_decision

_describe = describing_kernel("plan", "bundle")


@kernel
def _look_at_bundle(dev, seen):
    """Describe the bundle of the last decision."""
    case, merge = dev.case[0], dev.figure[MERGE_BLOCKS]
    seen.plane = case.plane
    seen.number = case.bundle
    seen.cause = case.cause
    seen.candidates = case.candidates
    seen.levels = case.levels
    seen.block_pages = case.block_pages
    seen.valid = case.valid
    seen.invalid = case.invalid
    seen.since_merge = case.since_merge
    seen.limit = case.limit
    seen.free_blocks = case.free_blocks
    seen.kept_blocks = case.kept_blocks
    seen.waiting = case.waiting
    seen.merge_ns = merge.cost_ns
    seen.merge_copies = merge.copies
    seen.block_erase_ns = dev.merging[0].erase_ns[0]
    leaves = np.int64(dev.params[0].sub_blocks)
    seen.blocks = 0
    total, squares = 0.0, 0.0
    for slot in range(dev.merging[0].slots):
        block = block_at(dev, seen.number, np.int64(slot))
        if block >= 0:
            seen.blocks += 1
            for sub in range(block * leaves, (block + 1) * leaves):
                erases = np.float64(dev.sub_block[sub].erases)
                total += erases
                squares += erases * erases
    count = max(seen.blocks * leaves, np.int64(1))
    seen.mean_erases = total / count
    seen.spread = sqrt(max(squares / count - seen.mean_erases * seen.mean_erases, 0.0))


@kernel
def _first_like(dev, number):
    """Return the first M-Merge with the parts, cost and restored sub-blocks of candidate `number`."""
    figure = dev.figure[number]
    for other in range(AT_DEPTH, number):
        seen = dev.figure[other]
        same = seen.parts == figure.parts and seen.cost_ns == figure.cost_ns
        if same and seen.restored == figure.restored:
            return np.int64(other)
    return np.int64(number)


def _observe(dev, spec, view, plane):
    """Describe a MERGE decision; the device does not change.

    At the horizon, the last decision is described again; if there was none, the mask allows only a Merge.
    """
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    view.mask[0] = 1
    count = np.int64(dev.case[0].candidates)
    if count == 0:
        return
    offered = np.int64(0)
    for k in range(count):
        plan = spec.plans[k]
        figure, depth = dev.figure[k], np.int64(k) - AT_DEPTH
        plan.number = k
        plan.depth = depth if depth <= dev.case[0].levels else np.int64(-1)
        plan.allowed = figure.allowed
        plan.cost_ns = figure.cost_ns
        plan.erase_ns = figure.erase_ns
        plan.copies = figure.copies
        plan.out_copies = figure.out_copies
        plan.erases = figure.erases
        plan.restored = figure.restored
        plan.at_tolerance = figure.at_tolerance
        view.mask[k] = dev.figure[k].allowed and _first_like(dev, np.int64(k)) == k
        offered += view.mask[k]
    _look_at_bundle(dev, spec.bundle[0])
    note_decision(dev, MERGE, dev.case[0].plane, offered, view.taken, spec.decision[0])
    rows, about, place = spec.plan_features, spec.bundle_features, spec.context_features.shape[0]
    handle, seen = dev.decider.victim_view, spec.bundle[0]
    _describe(dev, spec, handle, rows, 0, spec.plans, count, about, place, seen, view)
    for k in range(count):
        if not view.mask[k]:
            view.features[k] = np.float32(0.0)
    # Store the picks of the proposers, and mark them.
    for j in range(spec.proposers.shape[0]):
        pick = np.int64(merge_by(spec.proposers[j], dev.figure[:count], dev.case))
        if 0 <= pick < count and dev.figure[pick].allowed:
            pick = np.int64(_first_like(dev, pick))
            mark_pick(view, j, pick, spec.proposed_columns[j])


#: Returns the address of the observer of MERGE decisions, which the first call compiles.
merge_describer = describer(_observe, ARRAYS)
