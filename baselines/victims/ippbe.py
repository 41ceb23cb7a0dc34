"""Intra-plane parallel block erase: several blocks of a plane, or of a die's planes, in one erase time."""

import numpy as np

from ssdgym.policy import (
    MAX_PAIRS,
    SINGLE_PLANE,
    STRICT,
    SUB_BLOCK_SET,
    choose_block,
    eligible,
    kernel,
    legal_set,
    most_invalid_block,
    next_by_invalid,
    policy_alias,
    siblings_of,
    valid_in,
    victim_policy,
    whole_mask,
)

_THESIS = "Garrett, MS thesis, University of Pittsburgh 2018 (IPPBE)"
_NO_UNIT = np.int64(-1)


@kernel
def _most_invalid_unit_of(view, block):
    """Return the sub-block of a block with most invalid pages, on a tie the lowest; see `_next_unit`."""
    params = view.params[0]
    first = np.int64(block) * params.sub_blocks
    best = first
    if params.erase_unit == SUB_BLOCK_SET:
        for unit in range(first, first + params.sub_blocks):
            if view.sub_block[unit].invalid > view.sub_block[best].invalid:
                best = unit
    return best


@kernel
def _next_sub_block(view, plane, after):
    """Return the sub-block after `after` (-1: the first) in falling order of invalid pages; -1 for none.

    Sub-blocks without an invalid page are left out. On a tie the lower sub-block comes first.
    """
    params = view.params[0]
    limit = np.int64(params.pages_per_sub_block) + 1
    if after >= 0:
        limit = np.int64(view.sub_block[after].invalid)
    best, most = _NO_UNIT, np.int64(0)
    for block in range(plane * params.blocks, (plane + 1) * params.blocks):
        # A sub-block has no more invalid pages than its block.
        if not eligible(view, block) or view.block[block].invalid <= most:
            continue
        for unit in range(block * params.sub_blocks, (block + 1) * params.sub_blocks):
            invalid = np.int64(view.sub_block[unit].invalid)
            if most < invalid and (invalid < limit or (invalid == limit and unit > after)):
                best, most = np.int64(unit), invalid
    return best


@kernel
def _next_unit(view, plane, after):
    """Return the unit that follows `after` in falling order of invalid pages, as its first sub-block.

    A unit is a sub-block if the erase unit is `sub_block_set`, otherwise a block.
    """
    params = view.params[0]
    if params.erase_unit == SUB_BLOCK_SET:
        return _next_sub_block(view, plane, after)
    if after < 0:
        block = np.int64(most_invalid_block(view, plane))
    else:
        block = np.int64(next_by_invalid(view, plane, after // np.int64(params.sub_blocks)))
    return block * params.sub_blocks if block >= 0 else _NO_UNIT


@kernel
def _set_pair(view, choice, k, unit):
    params = view.params[0]
    choice[k].block = unit // np.int64(params.sub_blocks)
    choice[k].mask = whole_mask(view)
    if params.erase_unit == SUB_BLOCK_SET:
        choice[k].mask = np.uint64(1) << np.uint64(unit % np.int64(params.sub_blocks))


@kernel
def _are_light(view, choice, count, parameters):
    """Return whether unit number `count` of `choice` is light: a share below `tau` of its pages is valid.

    If `together` is 1, the pages of all units before it count as well.
    """
    params = view.params[0]
    pages = params.pages_per_sub_block if params.erase_unit == SUB_BLOCK_SET else params.pages_per_block
    first = 0 if parameters.together > 0 else count
    valid = 0
    for k in range(first, count + 1):
        valid += valid_in(view, choice[k].block, choice[k].mask)
    return valid < parameters.tau * pages * (count + 1 - first)


@kernel
def _is_chosen(choice, count, block):
    found = False
    for k in range(count):
        found = found or choice[k].block == block
    return found


@kernel
def _add_units(view, leader, plane, parameters, choice, count, after):
    """Add up to `limit` units of a plane that follow `after` to the choice; return the number of all pairs.

    In the leading plane one unit less is added, because the choice already contains its first unit.
    """
    wanted = np.int64(parameters.limit) if plane != leader else np.int64(parameters.limit) - 1
    unit = _next_unit(view, plane, after)
    while wanted > 0 and count < MAX_PAIRS and unit >= 0:
        if not _is_chosen(choice, count, unit // np.int64(view.params[0].sub_blocks)):
            _set_pair(view, choice, count, unit)
            if not _are_light(view, choice, count, parameters) or not legal_set(
                view, leader, choice, count + 1
            ):
                return count
            count += 1
            wanted -= 1
        unit = _next_unit(view, plane, unit)
    return count


@kernel
def _add_partners(view, leader, plane, parameters, choice, count, led):
    """Add blocks of sibling `plane` with the numbers of the first `led` blocks; return the count of pairs."""
    wanted = np.int64(parameters.limit)
    for k in range(led):
        block = np.int64(choice[k].block) + (plane - leader) * view.params[0].blocks
        if wanted > 0 and count < MAX_PAIRS and eligible(view, block):
            _set_pair(view, choice, count, _most_invalid_unit_of(view, block))
            if _are_light(view, choice, count, parameters) and legal_set(view, leader, choice, count + 1):
                count += 1
                wanted -= 1
    return count


@victim_policy(
    "ippbe",
    source=f"{_THESIS}, sections 4.5 and 6.1",
    parameters={"limit": (2, 1, MAX_PAIRS), "tau": (0.4, 0.0), "together": (0, 0, 1)},
)
def ippbe(view, plane, parameters, choice):
    """Choose up to `limit` units of the plane; after the first, only units with a valid share below `tau`.

    A unit is a sub-block if `erase_unit` is `sub_block_set`, otherwise a block. A unit without an invalid
    page is never chosen. A unit is *heavy* if the share of its valid pages is `tau` or more.

    1. The first unit is the unit with most invalid pages, even if it is heavy. If it is not legal by itself
       (it gains nothing), choose only the whole block with most invalid pages.
    2. Add further units in falling order of invalid pages, of blocks not chosen yet. Blocks come in the order
       of the buckets; of sub-blocks with equally many invalid pages the lower one comes first. The first unit
       that is heavy, or makes the set illegal, ends the search.
    3. If `multi_plane` is `relaxed`, go through the siblings in rising order of planes, and add up to `limit`
       units of each as in step 2.
    4. If `multi_plane` is `strict`, add from each sibling the blocks with the same numbers as those chosen in
       this plane, in the same order. If units are sub-blocks, add the sub-block of the block that has most
       invalid pages, on a tie the lowest. Skip a unit that is not eligible, is heavy, or makes the set
       illegal.

    There are at most 8 pairs in all.

    If `together` is 1, a unit is heavy if the share of valid pages in the unit and all units chosen before it
    is `tau` or more. The thesis also allows this reading: it limits "the number of pages that would need to
    be copied".

    The thesis gives neither value nor unit of its threshold; its figures allow about `0.27 < tau <= 0.4`.
    Rounds, erases and moves in figures 15, 13 and 12 are consistent only if greedy moves 24 to 27 % of a
    victim's pages, and nearly all rounds erase two blocks. By section 4.5, a block with 40 % valid pages
    should not be added; `tau = 0.4` excludes such blocks.
    """
    params = view.params[0]
    first = _next_unit(view, plane, _NO_UNIT)
    if first < 0:
        return 0
    _set_pair(view, choice, 0, first)
    if not legal_set(view, plane, choice, 1):
        return choose_block(view, choice, most_invalid_block(view, plane))
    count = _add_units(view, plane, plane, parameters, choice, np.int64(1), first)
    led = count
    if params.multi_plane == SINGLE_PLANE:
        return count
    for sibling in siblings_of(view, plane):
        if params.multi_plane == STRICT:
            count = _add_partners(view, plane, sibling, parameters, choice, count, led)
        else:
            count = _add_units(view, plane, sibling, parameters, choice, count, _NO_UNIT)
    return count


_FIGURE = f"{_THESIS}, section 6.1 and figure 19"
policy_alias("ippbe_subblock", "ippbe", source=_FIGURE, erase_unit="sub_block_set")
policy_alias("ippbe_multiplane", "ippbe", source=_FIGURE, multi_plane="relaxed")
policy_alias(
    "ippbe_subblock_multiplane", "ippbe", source=_FIGURE, erase_unit="sub_block_set", multi_plane="relaxed"
)
_STRICT = f"{_THESIS}, section 6.1, with the block addresses of section 2.2"
policy_alias("ippbe_multiplane_strict", "ippbe", source=_STRICT, multi_plane="strict")
