"""A bound for levelling: cold data moves to the blocks that have fewest erases left."""

from ssdgym.policy import blocks_of, erases_left, is_closed, levelling_policy, nearest_end_free


@levelling_policy("known_limits", source="a bound of ours", parameters={"threshold": (2, 1)}, oracle=True)
def known_limits(view, plane, parameters):
    """Empty the closed block with most erases left if a free block has over `threshold` fewer left.

    The pages of the emptied block move to the free block with fewest erases left.
    """
    free = nearest_end_free(view, plane)
    best, most = -1, 0
    for block in blocks_of(view, plane):
        if is_closed(view, block):
            left = erases_left(view, block)
            if best < 0 or left > most:
                best, most = block, left
    return best if free >= 0 and best >= 0 and most - erases_left(view, free) > parameters.threshold else -1
