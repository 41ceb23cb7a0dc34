"""The performance booster: erase the sub-blocks with most invalid pages, isolated by layers without data."""

from ssdgym.baselines.victims.gsm import (
    BEST_SET,
    KEEPING,
    by_benefit,
    by_search,
    choose_set,
    keep_best_sets,
    next_victim,
    table_bytes,
    touch,
)
from ssdgym.policy import victim_policy


@victim_policy(
    "pb",
    source="Chen et al., DAC 2016; as compared with in SpeedupGC, sections III-E and IV",
    erase_unit="sub_block_set",
    isolation="hardware",
    block=[*BEST_SET, *by_benefit.block],
    stream=by_benefit.stream,
    shares_memory_with=KEEPING,
    equivalent=by_search,
    controller_bytes=table_bytes,
)
def pb(view, plane, parameters, choice):
    """Choose the best set of the plane: of one block, the sub-blocks with most invalid pages.

    As many as give the highest recycle benefit. If they are not legal because they gain no pages, choose the
    whole block with most invalid pages.
    """
    block = next_victim(view, plane)
    return choose_set(view, plane, choice, block, view.block_memory[max(block, 0)].mask)


keep_best_sets(pb, touch)
