"""The performance booster: erase the sub-blocks with most invalid pages, isolated by layers without data."""

from ssdgym.baselines.victims import gsm
from ssdgym.policy import victim_policy


@victim_policy(
    "pb",
    source="Chen et al., DAC 2016; as compared with in SpeedupGC, sections III-E and IV",
    erase_unit="sub_block_set",
    isolation="hardware",
    block=[*gsm.BEST_SET, *gsm.by_benefit.block],
    stream=gsm.by_benefit.stream,
    shares_memory_with=gsm.KEEPING,
    equivalent=gsm.by_search,
    controller_bytes=gsm.table_bytes,
)
def pb(view, plane, parameters, choice):
    """Choose the best set of the plane: of one block, the sub-blocks with most invalid pages.

    As many as give the highest recycle benefit. If they are not legal because they gain no pages, choose the
    whole block with most invalid pages.
    """
    block = gsm.next_victim(view, plane)
    return gsm.choose_set(view, plane, choice, block, view.block_memory[max(block, 0)].mask)


gsm.keep_best_sets(pb, gsm.touch)
