"""The performance booster: the sub-blocks with most invalid pages, kept apart by layers without data."""

from ssdgym.policy import choose_best_set, victim_policy


@victim_policy(
    "pb",
    source="Chen et al., DAC 2016; as compared with in SpeedupGC, sections III-E and IV",
    erase_unit="sub_block_set",
    isolation="hardware",
)
def pb(dev, plane, parameters, choice):
    """Of one block, the sub-blocks with most invalid pages, as many as give the highest recycle benefit."""
    return choose_best_set(dev, plane, choice)
