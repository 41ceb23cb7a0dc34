"""The performance booster: erase the sub-blocks with most invalid pages, isolated by layers without data."""

from ssdgym.policy import choose_best_set, victim_policy


@victim_policy(
    "pb",
    source="Chen et al., DAC 2016; as compared with in SpeedupGC, sections III-E and IV",
    erase_unit="sub_block_set",
    isolation="hardware",
)
def pb(view, plane, parameters, choice):
    """Choose the best set of the plane: of one block, the sub-blocks with most invalid pages.

    As many as give the highest recycle benefit. If they are not legal because they gain no pages, choose the
    whole block with most invalid pages.
    """
    return choose_best_set(view, plane, choice)
