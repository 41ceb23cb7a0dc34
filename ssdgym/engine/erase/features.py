"""Observations of ERASE decisions: features of the candidates, the mask of legal candidates, and the context.

A feature is a function of records that are filled here; it is called by its address.
"""

import numpy as np

from ssdgym.engine.core.bits import NONE, has, quotient
from ssdgym.engine.core.kernel import clear, count_bits, inlined, kernel, prefetch
from ssdgym.engine.core.observed import candidate_feature_at
from ssdgym.engine.core.records import MAX_PAIRS, SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.status import OK
from ssdgym.engine.decisions import ERASE
from ssdgym.engine.erase.candidates import fill_up, list_all, pairs_of, propose
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.flash import neighbours_of, sub_block_of, valid_in
from ssdgym.engine.observation import checked, describe_decision, mark_pick, note_decision

#: Logical pages of an aligned group, a power of two; their map entries are adjacent in memory.
GROUP = 4


@inlined
def _count_updates(dev, block, mask, stride, tally):
    """Add to `tally` the host writes of a pair's sampled valid pages, and of other pages of their groups."""
    params = dev.params[0]
    first = block * params.pages_per_block
    for ppn in range(first, first + params.pages_per_block, stride):
        lpn = max(np.int64(dev.physical[ppn].lpn), 0)
        if dev.logical[lpn].ppn != ppn:
            continue
        if params.sub_blocks > 1 and not has(mask, sub_block_of(params, ppn) - block * params.sub_blocks):
            continue
        own = np.int64(dev.logical[lpn].version)
        tally.sampled += 1
        tally.updates += own
        start = lpn & ~np.int64(GROUP - 1)
        if start + GROUP <= params.logical_pages:
            total = -own
            for other in range(start, start + GROUP):
                total += dev.logical[other].version
            tally.neighbours += GROUP - 1
            tally.neighbour_updates += total


@inlined
def count_candidate(dev, erase_set, pairs, stride, tally):
    """Count pages and sub-blocks of a candidate of `pairs` pairs; store them in `tally`, a CANDIDATE.

    Every `stride`-th page of a block is sampled to count host writes; if `stride` is 0, no page is sampled.
    """
    clear(tally)
    tally.pairs = pairs
    for k in range(pairs):
        block, mask = np.int64(erase_set[k].block), erase_set[k].mask
        tally.block[k] = block
        tally.mask[k] = mask
        params = dev.params[0]
        base = block * params.sub_blocks
        tally.sub_blocks += np.int64(count_bits(mask))
        for s in range(params.sub_blocks):
            if has(mask, s):
                sub_block = dev.sub_block[base + s]
                tally.written += sub_block.written
                tally.invalid += sub_block.invalid
                tally.erases += sub_block.erases
                tally.spent += sub_block.invalid == params.pages_per_sub_block
        tally.beside += valid_in(dev, block, neighbours_of(params, mask))
        record = dev.block[block]
        tally.relocated += params.streams > 1 and record.stream == params.gc_stream
        tally.invalidated_at = max(tally.invalidated_at, record.invalidated_at)
        tally.closed_at = max(tally.closed_at, record.closed_at)
        if stride > 0:
            _count_updates(dev, block, mask, stride, tally)
    tally.valid = tally.written - tally.invalid


@inlined
def describe_candidates(dev, spec, count, view):
    """Fill in the features of the candidates that may be chosen."""
    handle = dev.decider.victim_view
    for column in range(spec.candidate_features.shape[0]):
        feature = spec.candidate_features[column]
        call = candidate_feature_at(feature.address)
        for k in range(count):
            if view.mask[k]:
                value = call(handle, spec.tallies[k], spec.decision[0])
                view.features[k, column] = checked(spec, column, feature, value)


@inlined
def observe_plane(dev, plane, spec, view):
    """Describe the ERASE decision of a plane; the device does not change.

    If `spec.every`, the candidates are all erase sets in fixed rows; otherwise proposals. If no set is legal,
    which happens only at the horizon, the mask marks candidate 0, so that no mask is empty.
    """
    count = propose(dev, plane, spec, view.sets, view.proposed)
    if spec.every:
        _locate_proposed(dev, plane, spec, view)
        for k in range(count):  # sets that `list_all` writes have a single pair
            for j in range(1, MAX_PAIRS):
                view.sets[k, j].mask = NONE
        count = list_all(dev, plane, view.sets)
    else:
        count = fill_up(dev, plane, view.sets, count, spec)
    stride = 0
    if spec.sampled_pages > 0:
        stride = max(quotient(dev.params[0].pages_per_block, spec.sampled_pages), 1)
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    for k in range(count):
        pairs = pairs_of(view.sets[k])
        if check_erase_set(dev, plane, view.sets[k], pairs) == OK:
            view.mask[k] = 1
            if stride > 0:
                # Prefetch the map entries that are read below.
                pages = np.int64(dev.params[0].pages_per_block)
                for pair in range(pairs):
                    first = view.sets[k, pair].block * pages
                    for ppn in range(first, first + pages, stride):
                        prefetch(dev.logical, max(np.int64(dev.physical[ppn].lpn), 0))
    for k in range(count):
        if view.mask[k]:
            count_candidate(dev, view.sets[k], pairs_of(view.sets[k]), stride, spec.tallies[k])
    for j in range(spec.proposers.shape[0]):
        if view.proposed[j] >= 0:
            spec.tallies[view.proposed[j]].proposers |= np.uint64(1) << np.uint64(j)
    erases, chosen = 0.0, 0
    for row in range(view.mask.shape[0]):
        if view.mask[row]:
            erases += spec.tallies[row].erases / np.float64(spec.tallies[row].sub_blocks)
            chosen += 1
    note_decision(dev, ERASE, plane, chosen, view.taken, spec.decision[0])
    spec.decision[0].mean_erases = erases / max(chosen, 1)
    describe_candidates(dev, spec, count, view)
    for j in range(spec.proposers.shape[0]):
        mark_pick(view, j, np.int64(view.proposed[j]), spec.proposed_columns[j])
    if spec.decision[0].candidates == 0:
        view.mask[0] = 1
    describe_decision(dev, spec, view.context)


@kernel
def _locate_proposed(dev, plane, spec, view):
    """Turn the rows of the proposers' picks into rows of `list_all`; a set of several pairs has none (-1)."""
    params = dev.params[0]
    for p in range(spec.proposers.shape[0]):
        if view.proposed[p] < 0:
            continue
        wanted = view.sets[view.proposed[p]]
        block = np.int64(wanted[0].block) - plane * params.blocks
        single = pairs_of(wanted) == 1
        view.proposed[p] = _fixed_place(params, block, wanted[0].mask) if single else -1


@kernel
def _fixed_place(params, block, mask):
    """Return the row of an erase set in `list_all`; `block` is numbered within its plane."""
    sub_blocks = np.int64(params.sub_blocks)
    if params.erase_unit == WHOLE_BLOCK:
        return block
    if params.erase_unit != SUB_BLOCK_RUN:
        return block * ((1 << sub_blocks) - 1) + np.int64(mask) - 1
    start = 0
    while not (mask >> np.uint64(start)) & np.uint64(1):
        start += 1
    length = 0
    while start + length < sub_blocks and (mask >> np.uint64(start + length)) & np.uint64(1):
        length += 1
    per_block = sub_blocks * (sub_blocks + 1) // 2
    if length == sub_blocks:
        return (block + 1) * per_block - 1
    before = start * sub_blocks - start * (start - 1) // 2
    if start > 0:
        before -= 1  # the whole block is listed last, not with start 0
    return block * per_block + before + length - 1
