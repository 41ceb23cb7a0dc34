"""Parallel garbage collection: the planes of a die collect blocks of the same number together."""

from ssdgym.policy import (
    MAX_PAIRS,
    choose_block,
    legal_set,
    most_invalid_block,
    siblings_of,
    victim_policy,
    whole_mask,
)


@victim_policy(
    "parallel_gc",
    source="Shahidi et al., SC 2016; as a baseline of IPPBE, section 3.1",
    multi_plane="strict",
)
def parallel_gc(view, plane, parameters, choice):
    """Choose the block with most invalid pages, and the blocks with the same number in the sibling planes.

    Siblings are considered in rising order. The block of a sibling is added if the set stays legal, however
    many valid pages the block has.
    """
    block = most_invalid_block(view, plane)
    if block < 0:
        return 0
    count = choose_block(view, choice, block)
    for sibling in siblings_of(view, plane):
        if count < MAX_PAIRS:
            choice[count].block = block + (sibling - plane) * view.params[0].blocks
            choice[count].mask = whole_mask(view)
            count += legal_set(view, plane, choice, count + 1)
    return count
