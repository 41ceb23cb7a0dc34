"""What a decision looks like to a learner: candidates in numbers, a mask, and context."""

from __future__ import annotations

from math import log2

import numpy as np

from ssdgym.engine.core.bits import NONE, has
from ssdgym.engine.core.kernel import count_bits, inlined, kernel
from ssdgym.engine.core.records import IN_STREAMS, MAX_PAIRS, SUB_BLOCK_RUN, WHOLE_BLOCK
from ssdgym.engine.core.status import OK
from ssdgym.engine.erase.candidate_table import pairs_of
from ssdgym.engine.erase.candidates import fill_up, list_all, propose
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.flash.sub_blocks import neighbours_of, valid_in
from ssdgym.types import Feature

#: One unit of a log feature is 16 factors of two, so that a difference of two of them is the logarithm of a
#: ratio: `log_benefit + log_age` orders candidates as cost-benefit does, `log_benefit` alone nearly as greedy
#: does.
LOG_SCALE = 16.0
_LOG = "16 factors of two"

#: The columns of a candidate, as `_describe` fills them. A candidate is a set of one block (or some of its
#: sub-blocks) or of up to eight; of several, their pages, sub-blocks and erases are counted together.
CANDIDATE_FEATURES = (
    Feature("valid_fraction", "valid share of the set's written pages (u)"),
    Feature("log_benefit", "log2(invalid / (valid + 0.5)) / 16", _LOG, -2.0, 2.0),
    Feature("log_age", "log2(host pages since the last invalidation in its blocks + 1) / 16", _LOG, 0.0, 4.0),
    Feature(
        "log_age_closed", "log2(host pages since the last of its blocks closed + 1) / 16", _LOG, 0.0, 4.0
    ),
    Feature("moves", "pages of the set to relocate, in blocks", "blocks", 0.0, MAX_PAIRS),
    Feature("gain", "invalid pages of the set, in blocks", "blocks", 0.0, MAX_PAIRS),
    Feature("share", "sub-blocks of the set, in blocks", "blocks", 0.0, MAX_PAIRS),
    Feature(
        "wear",
        "erases of the set against the mean m of the candidates: (e - m) / (m + 1)",
        "ratio",
        -1.0,
        1.0,
    ),
    Feature("gc_stream", "share of its blocks that hold relocated pages (with a GC stream of their own)"),
    Feature(
        "log_recycle_benefit",
        "log2(invalid pages per time to win them, in those one move takes) / 16",
        _LOG,
        -2.0,
        2.0,
    ),
    Feature(
        "neighbour_moves",
        "pages to relocate from neighbours that are not erased, in blocks",
        "blocks",
        0.0,
        MAX_PAIRS,
    ),
    Feature("spent", "share of the set's sub-blocks whose pages are all invalid"),
)
CANDIDATE_COLUMNS = len(CANDIDATE_FEATURES)

#: The entries of the context, as `_describe_plane` fills them.
CONTEXT_FEATURES = (
    Feature("utilisation", "logical pages / pages that can be written (isolation pages left out)"),
    Feature("log_pages_per_block", "log2(pages per block) / 16", _LOG, 0.0, 2.0),
    Feature("log_blocks", "log2(blocks per plane) / 32", "32 factors of two"),
    Feature("free", "free share of the plane's pages"),
    Feature("pool", "share of the plane's pages that are free in its pool"),
    Feature("indexed", "share of the plane's blocks that may be victims"),
    Feature("invalid", "invalid share of the plane's pages"),
    Feature("log_logical_pages", "log2(logical pages) / 32", "32 factors of two"),
    Feature("log_clock", "log2(host pages ever written + 1) / 64", "64 factors of two"),
)
CONTEXT_COLUMNS = len(CONTEXT_FEATURES)


@inlined
def _clip(value, low, high):
    return min(max(value, low), high)


@inlined
def _log_age(dev, since):
    return log2(dev.control[0].clock - since + 1.0) / LOG_SCALE


@inlined
def _count_pair(dev, pair):
    """Count of a pair its sub-blocks, written and invalid pages, erases, sub-blocks that are all invalid."""
    params = dev.params[0]
    base = np.int64(pair.block) * params.sub_blocks
    invalid = 0
    written = 0
    erases = 0
    spent = 0
    for s in range(params.sub_blocks):
        if has(pair.mask, s):
            sub_block = dev.sub_block[base + s]
            invalid += sub_block.invalid
            written += sub_block.written
            erases += sub_block.erases
            spent += sub_block.invalid == params.pages_per_sub_block
    return np.int64(count_bits(pair.mask)), written, invalid, erases, spent


@inlined
def _describe(dev, erase_set, pairs, row):
    """Fill in the candidate's features; `CANDIDATE_FEATURES` names the columns."""
    params = dev.params[0]
    members, written, invalid, erases, spent, beside, relocated = np.int64(0), 0, 0, 0, 0, 0, 0
    invalidated_at, closed_at = np.int64(0), np.int64(0)
    for k in range(pairs):
        pair = erase_set[k]
        block = dev.block[pair.block]
        counted = _count_pair(dev, pair)
        members += counted[0]
        written += counted[1]
        invalid += counted[2]
        erases += counted[3]
        spent += counted[4]
        beside += valid_in(dev, pair.block, neighbours_of(params, pair.mask))
        relocated += params.streams > 1 and block.stream == params.gc_stream
        invalidated_at = max(invalidated_at, block.invalidated_at)
        closed_at = max(closed_at, block.closed_at)
    valid = written - invalid
    cost = (valid + beside) * params.copy_cost + params.erase_cost
    per_block = np.float64(params.pages_per_block)
    row[0] = valid / max(written, 1)
    row[1] = log2(max(invalid, 0.5) / (valid + 0.5)) / LOG_SCALE
    row[2] = _log_age(dev, invalidated_at)
    row[3] = _log_age(dev, closed_at)
    row[4] = valid / per_block
    row[5] = invalid / per_block
    row[6] = members / params.sub_blocks
    row[7] = erases / members
    row[8] = relocated / pairs if params.placement == IN_STREAMS else 0.0
    row[9] = _clip(log2(max(invalid, 0.5) * params.copy_cost / cost) / LOG_SCALE, -2.0, 2.0)
    row[10] = beside / per_block
    row[11] = spent / members


@inlined
def _relate_wear(view):
    """Relate the wear of each candidate to the mean of all, in -1 .. 1."""
    total = 0.0
    count = 0
    for k in range(view.mask.shape[0]):
        if view.mask[k]:
            total += view.features[k, 7]
            count += 1
    mean = total / max(count, 1)
    for k in range(view.mask.shape[0]):
        if view.mask[k]:
            view.features[k, 7] = _clip((view.features[k, 7] - mean) / (mean + 1.0), -1.0, 1.0)


@inlined
def _describe_plane(dev, plane_number, context):
    params = dev.params[0]
    control = dev.control[0]
    plane = dev.plane[plane_number]
    pages = np.float64(params.blocks) * params.pages_per_block
    context[0] = params.logical_pages / (pages * params.planes)
    context[1] = log2(np.float64(params.pages_per_block)) / LOG_SCALE
    context[2] = log2(np.float64(params.blocks)) / (2 * LOG_SCALE)
    context[3] = plane.free_pages / pages
    context[4] = plane.pool_pages / pages
    context[5] = plane.indexed_blocks / np.float64(params.blocks)
    context[6] = (pages - plane.free_pages - plane.valid) / pages
    context[7] = log2(np.float64(params.logical_pages)) / (2 * LOG_SCALE)
    context[8] = log2(control.clock + 1.0) / (4 * LOG_SCALE)


@inlined
def observe_plane(dev, plane, question, view):
    """Describe the ERASE decision of a plane. Pure: the device stays as it is.

    With `every` set in the question the candidates are all erase sets at fixed places, else proposals. Where
    nothing may be erased (which only an observation after the horizon can meet), candidate 0 stands in, so
    that the mask is never empty.
    """
    count = propose(dev, plane, question, view.sets, view.proposed)
    if question.every:
        _locate_proposed(dev, plane, view)
        _clear_pairs(view.sets, count)
        count = list_all(dev, plane, view.sets)
    else:
        count = fill_up(dev, plane, view.sets, count, question)
    view.features[:] = np.float32(0.0)
    view.mask[:] = 0
    for k in range(count):
        erase_set = view.sets[k]
        pairs = pairs_of(erase_set)
        if check_erase_set(dev, plane, erase_set, pairs) == OK:
            view.mask[k] = 1
            _describe(dev, erase_set, pairs, view.features[k])
    _relate_wear(view)
    if not view.mask.any():
        view.mask[0] = 1
    _describe_plane(dev, plane, view.context)


@inlined
def _clear_pairs(sets, count):
    """Make the first `count` sets ones of a single pair."""
    for k in range(count):
        for j in range(1, MAX_PAIRS):
            sets[k, j].mask = NONE


@kernel
def _locate_proposed(dev, plane, view):
    """Translate the proposers' picks to the places of `list_all`; sets of several pairs have none."""
    params = dev.params[0]
    for p in range(view.proposed.shape[0]):
        if view.proposed[p] < 0:
            continue
        wanted = view.sets[view.proposed[p]]
        block = np.int64(wanted[0].block) - plane * params.blocks
        single = pairs_of(wanted) == 1
        view.proposed[p] = _fixed_place(params, block, wanted[0].mask) if single else -1


@kernel
def _fixed_place(params, block, mask):
    """Return the place `list_all` gives to an erase set (`block` within its plane)."""
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
