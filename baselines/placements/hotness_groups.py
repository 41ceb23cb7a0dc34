"""Hot pages go to the block group of their hotness group, all other pages to a random block.

Hotness is that of `hot_cold` (E22 to E25).

* **E28** The blocks of a plane are in `g` *block groups* of at most `m = B // (g - 1) - 1` blocks; at the
  start block `j` of a plane is in group `1 + j % g`.
* **E29** A block's *rank* is the benefit of its best set (0 without one); with `isolation: hardware` it is
  the number of its sub-blocks that hold only invalid pages. Of two blocks of equal rank, the block whose best
  set comes first by the ties of the best set of a plane (E43) counts as larger. Under hardware isolation, or
  without best sets, the lower block counts as larger.
* **E30** A block is *reclassified* when one of its pages becomes invalid or is programmed (once for a page
  dead at birth, as invalid), and when a round on it ends. During the round a victim keeps group and rank. To
  reclassify block `b` with new rank `r`:
    1. Take `b` out of its group.
    2. `l` is the largest number of a non-empty group whose smallest rank is below `r` (not equal), or 1.
    3. If group `l` has `m` blocks and one of the groups `1..l-1` has fewer, the block of smallest rank in
       group `l` moves to group `l - 1`. If group `l - 1` has `m` blocks, its block of smallest rank first
       moves to `l - 2`, and so on. `b` joins group `l`.
    4. Otherwise `b` joins group `l`. If the group then has more than `m` blocks, its block of largest rank
       (possibly `b`) moves to `l + 1`, and so on.
* **E31** A hot page of hotness group `i`, host or relocated, is scattered to the first of these sub-blocks
  that exists:
    1. in the lowest pool block of group `i` whose best set has unwritten pages: the lowest sub-block of that
       set with unwritten pages;
    2. in the lowest pool block of group `i`: its lowest sub-block with unwritten pages;
    3. as in 2, with the groups `i + 1`, `i - 1`, `i + 2`, `i - 2` and so on.
* **E32** Any other page goes to the lowest sub-block with unwritten pages of a random block in the pool.
  Draws `first` to `first + 63` each select a block, `below(B)`; the first one in the pool is chosen. If none
  is, the search goes upwards from the block of draw `first + 64`, wrapping. For a host page the draws are of
  random stream 4 and decision `clock`, and `first = 0`. For a relocated page they are of random stream 5 and
  decision `rounds`, and `first` is 65 times the page's number within its block.
* **E33** If `hotness.scatter` is `block`, a page of E32 goes to the open block of stream 0. If no block is
  open, the block of E32 is opened, and stays open until it is full. While open it is in neither pool nor
  index, has rank 0, receives no hot pages, and is reclassified only when it opens and closes.
* **E34** When `hotness_groups` starts on a device with data (`preconditioning: until_gc_greedy`), the open
  block of stream 0 goes with its pages to the tail of the pool and into the index. The blocks of a plane are
  divided by rank: a block with `k` blocks of lower rank joins group `1 + k * g // B`. Other placements keep
  the open blocks.
"""

from typing import Any

import numpy as np

from ssdgym.baselines.placements import block_groups
from ssdgym.baselines.placements.hotness import (
    MEMORY,
    group_once_counted,
    hotness_group,
    is_first_write,
    note_write,
    table_bytes,
    table_words,
)
from ssdgym.baselines.victims.gsm import BEST_SET, NOTHING, by_benefit, note
from ssdgym.baselines.victims.table_bytes import best_set_bytes, bits_of, tree_bytes, whole_bytes
from ssdgym.policy import (
    HARDWARE,
    HOST_PLACEMENT_STREAM,
    INDEXED,
    MAX_STREAMS,
    OPEN,
    OPENS,
    POOLED,
    RELOCATION_STREAM,
    SUB_BLOCK_RUN,
    below,
    best_set_after,
    best_set_from,
    blocks_of,
    draw,
    first_writable,
    has,
    kernel,
    neighbours,
    placement_policy,
    prefetch_block,
    tie_of,
    whole_mask,
)

#: Record of a block. `first` is its lowest sub-block with unwritten pages, within the block. `was_open` is 1
#: from its opening until `_programmed` has updated it after it closed.
_BLOCK = [*BEST_SET, ("first", "u1"), ("was_open", "u1"), *by_benefit.block, *block_groups.RANK]
#: What has changed in a block: anything; only that a page was programmed; only that a page became invalid.
_ANYTHING, _PROGRAMMED, _INVALIDATED = 0, 1, 2
#: Random draws for a page before the search goes through the blocks in order (E32).
_TRIES = 64


def _words(device: Any) -> int:
    """Return the words of the groups of all planes and, after them, of the hotness table."""
    geometry, groups = device.usable, device.ftl.hotness.groups
    plane_words = block_groups.words_of_plane.py_func(geometry.blocks_per_plane, groups)
    return geometry.planes * plane_words + table_words(device)


def _controller_bytes(device: Any) -> int:
    """Return the bytes that a controller would need.

    Every block has its best set, its group, `shown`, and its place in a heap. Every group has its size, a
    heap of its blocks, and two bit sets of the blocks of the plane, with one more bit for each 64 bits. If
    ranks are not benefits, there is also an order of the blocks by benefit. The hotness counters are added.
    """
    geometry, hotness = device.usable, device.ftl.hotness
    blocks = geometry.blocks_per_plane
    limit = block_groups.largest_group.py_func(blocks, hotness.groups)
    of_a_block = whole_bytes(bits_of(blocks - 1)) + whole_bytes(bits_of(limit))
    of_a_group = whole_bytes(bits_of(limit)) + whole_bytes(2 * (blocks + -(-blocks // 64)))
    groups = geometry.planes * (blocks * of_a_block + hotness.groups * of_a_group)
    order = tree_bytes(device) if device.isolation == "hardware" else 0
    best_sets = best_set_bytes(device, bits_of(hotness.groups - 1), bits_of(block_groups.WRITABLE_BEST))
    return best_sets + groups + order + table_bytes(device)


@kernel
def _table(view):
    """Return the word at which the hotness table begins."""
    return np.int64(view.params[0].planes) * view.memory[0].plane_words


@kernel
def _full_and_invalid(view, block):
    """Return the number of sub-blocks of a block that hold only invalid pages."""
    params, count = view.params[0], 0
    for sub in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
        count += view.sub_block[sub].invalid == params.pages_per_sub_block
    return count


@kernel
def _keep(view, block, mask, gain, moves):
    """Store the best set of a block and its rank; return 0 (not writable), WRITABLE or WRITABLE_BEST."""
    own = view.block_memory[block]
    own.mask, own.gain, own.moves = mask, gain, moves
    if view.params[0].isolation == HARDWARE:
        listed = view.block[block].status & INDEXED
        own.rank_gain, own.rank_moves, own.rank_tie = _full_and_invalid(view, block) if listed else 0, 0, 0
    else:
        own.rank_gain, own.rank_moves, own.rank_tie = gain, moves, tie_of(mask)
    if not view.block[block].status & POOLED:
        return 0
    return block_groups.WRITABLE_BEST if first_writable(view, block, mask) >= 0 else block_groups.WRITABLE


@kernel
def _renew(view, block):
    """Search the best set of a block, and store it with `_keep`, whose result is returned."""
    if view.block[block].status & INDEXED:
        mask, gain, moves = best_set_from(view, block, view.block_memory[block].mask)
        return _keep(view, block, mask, gain, moves)
    return _keep(view, block, NOTHING, 0, 0)


@kernel
def _renew_after(view, block, s, programmed):
    """Update an indexed block's best set after a page of sub-block `s` was programmed or became invalid.

    Return the result of `_keep`. A programmed page only lowers the benefit of sets that must relocate it, so
    the best set can change only if it is such a set. A best run is adjusted from its old benefit.
    """
    params, own = view.params[0], view.block_memory[block]
    burdened = has(own.mask | neighbours(view, own.mask), s)
    if programmed and not burdened:
        return np.int64(own.shown) if view.block[block].status & POOLED else 0
    if own.mask == 0 or params.erase_unit != SUB_BLOCK_RUN:
        mask, gain, moves = best_set_from(view, block, NOTHING)
        return _keep(view, block, mask, gain, moves)
    gain, moves = np.int64(own.gain), np.int64(own.moves)
    if programmed:
        moves += 1
    elif burdened:
        gain += has(own.mask, s)
        moves -= 1
    mask, gain, moves = best_set_after(view, block, gain, moves)
    if mask == own.mask and not programmed and params.isolation != HARDWARE:
        own.gain, own.moves, own.rank_gain, own.rank_moves = gain, moves, gain, moves
        return np.int64(own.shown) if view.block[block].status & POOLED else 0
    return _keep(view, block, mask, gain, moves)


@kernel
def _note_first(view, block):
    """Store the lowest sub-block of a block with unwritten pages."""
    sub = first_writable(view, block, whole_mask(view))
    view.block_memory[block].first = sub - block * view.params[0].sub_blocks if sub >= 0 else 0


@kernel
def _change(view, plane, block, change, s):
    """Update best set, rank and group of a block after a change (`_ANYTHING`, ...) in its sub-block `s`."""
    params, own, before = view.params[0], view.block_memory[block], block_groups.rank_of(view, block)
    mask, gain, moves = own.mask, own.gain, own.moves
    sub = block * params.sub_blocks + s
    filled = change == _PROGRAMMED and view.sub_block[sub].written == params.pages_per_sub_block
    if change == _ANYTHING or filled:
        _note_first(view, block)
    if change == _ANYTHING:
        writable = _renew(view, block)
    else:
        writable = _renew_after(view, block, s, change == _PROGRAMMED)
    block_groups.reclassify(view, plane, block, before, writable)
    if change == _ANYTHING or mask != own.mask or gain != own.gain or moves != own.moves:
        note(view, block)


# -- where a page goes


@kernel
def _of_group(view, plane, group):
    """Return the sub-block of E31 for a hotness group, counted from 0; -1 if no block is writable."""
    block, groups = block_groups.first_of(view, plane, group, 1), view.memory[0].groups
    if block >= 0:
        return first_writable(view, block, view.block_memory[block].mask)
    block, distance = block_groups.first_of(view, plane, group, 0), 1
    while block < 0 and distance < groups:
        if group + distance < groups:
            block = block_groups.first_of(view, plane, group + distance, 0)
        if block < 0 and group >= distance:
            block = block_groups.first_of(view, plane, group - distance, 0)
        distance += 1
    return block if block < 0 else block * view.params[0].sub_blocks + view.block_memory[block].first


@kernel
def _drawn(view, plane, draws, k):
    """Return the block that draw `first + k` selects; `draws` is (random stream, decision, `first`)."""
    stream, decision, first = draws
    blocks = np.int64(view.params[0].blocks)
    return plane * blocks + below(draw(view.params[0].seed, stream, decision, first + k), blocks)


@kernel
def _at_random(view, plane, draws, block):
    """Return the sub-block of E32, given the block of the first draw; -1 if the pool is empty."""
    first, blocks = plane * np.int64(view.params[0].blocks), np.int64(view.params[0].blocks)
    for k in range(1, _TRIES + blocks + 1):
        if view.block_memory[block].shown:
            return block * view.params[0].sub_blocks + view.block_memory[block].first
        block = _drawn(view, plane, draws, k) if k <= _TRIES else first + (block + 1 - first) % blocks
    return np.int64(-1)


@placement_policy(
    "hotness_groups",
    source="Gong, Shen and Shu, SpeedupGC, sections III-C and III-D",
    streams=1,
    relocation_streams=0,
    targets=True,
    block=_BLOCK,
    stream=by_benefit.stream,
    memory=[*MEMORY, *block_groups.SIZES],
    table=_words,
    controller_bytes=_controller_bytes,
    counted=["hot_pages_written"],
)
def hotness_groups(view, plane, lpn, source, parameters):
    """Return the sub-block of E31 for a hot page, otherwise that of E32, or the open block of E33."""
    control, params = view.control[0], view.params[0]
    pages, first, group = np.int64(params.pages_per_block), source < 0 and is_first_write(view, lpn), 0
    draws = (HOST_PLACEMENT_STREAM, np.int64(control.clock), np.int64(0))
    if source >= 0:
        draws = (RELOCATION_STREAM, np.int64(control.rounds), np.int64(65 * (source % pages)))
    prefetch_block(view, np.int64(view.logical[lpn].ppn) // pages)
    drawn = _drawn(view, plane, draws, 0)
    prefetch_block(view, drawn)
    prefetch_block(view, _drawn(view, plane, draws, 1))
    if source >= 0:
        group = hotness_group(view, _table(view), lpn)
    elif not first:
        group = group_once_counted(view, _table(view), lpn)
    if group > 0:
        return _target(_of_group(view, plane, group - 1), 0)
    keeps = first or params.keeps_blocks != 0
    if keeps and view.open_sub_block[plane * MAX_STREAMS] >= 0:
        return 0
    return _target(_at_random(view, plane, draws, drawn), OPENS if keeps else 0)


@kernel
def _target(sub, opens):
    """Return the target for a sub-block; if it is -1, stream 0, for which the engine then finds no block."""
    return 0 if sub < 0 else MAX_STREAMS + sub + opens


@kernel
def _programmed(view, plane, page, valid):
    """Reclassify the block of a page that was programmed, unless it is open; `valid`: not dead at birth."""
    params = view.params[0]
    block, own = page // params.pages_per_block, view.block_memory[page // params.pages_per_block]
    if view.block[block].status & OPEN:
        return
    whole = own.was_open != 0 or not valid
    own.was_open = 0
    s = page // params.pages_per_sub_block - block * params.sub_blocks
    _change(view, plane, block, _ANYTHING if whole else _PROGRAMMED, s)


@hotness_groups.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write, and reclassify the block."""
    note_write(view, _table(view), lpn, old_page, page, False)
    _programmed(view, plane, page, view.logical[lpn].ppn == page)


@hotness_groups.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Reclassify the block of the new copy of the page."""
    _programmed(view, plane, page, True)


@hotness_groups.on("invalidated")
def invalidated(view, plane, lpn, old_page, page, parameters):
    """Reclassify the block of the page, unless it is open or a victim."""
    params, block = view.params[0], old_page // view.params[0].pages_per_block
    if view.block[block].status & INDEXED:
        s = old_page // params.pages_per_sub_block - block * params.sub_blocks
        _change(view, plane, block, _INVALIDATED, s)


@hotness_groups.on("opened")
def opened(view, plane, block, parameters):
    """Reclassify the block, which has rank 0 while it is open."""
    view.block_memory[block].was_open = 1
    _change(view, plane, block, _ANYTHING, 0)


@hotness_groups.on("collected")
def collected(view, plane, block, parameters):
    """Keep the victim in its group, but mark it as not writable."""
    block_groups.show(view, plane, block, 0)
    note(view, block)


@hotness_groups.on("recycled")
def recycled(view, plane, block, parameters):
    """Reclassify the block after its round."""
    _change(view, plane, block, _ANYTHING, 0)


@hotness_groups.on("attached")
def attached(view, plane, block, parameters):
    """Assign the blocks of a plane to groups: in turn on an empty device (E28), otherwise by rank (E34)."""
    block_groups.set_sizes(view)
    memory, first = view.memory[0], plane * np.int64(view.params[0].blocks)
    for word in range(plane * memory.plane_words, (plane + 1) * memory.plane_words):
        view.table[word] = 0
    for number in blocks_of(view, plane):
        _note_first(view, number)
        _renew(view, number)
        view.block_memory[number].shown = 0
        note(view, number)
    if view.control[0].clock == 0:
        for number in blocks_of(view, plane):
            view.block_memory[number].group = (number - first) % memory.groups
    else:
        for number in blocks_of(view, plane):
            block_groups.join(view, plane, 0, number)
        block_groups.deal(view, plane)
    for number in blocks_of(view, plane):
        block_groups.join(view, plane, np.int64(view.block_memory[number].group), number)
        block_groups.show(view, plane, number, _renew(view, number))
