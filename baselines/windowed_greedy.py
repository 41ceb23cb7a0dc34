"""Windowed greedy: greedy among the blocks that closed longest ago."""

from ssdgym.policy import eligible, victim_policy, whole_block


@victim_policy(
    "windowed_greedy", source="Hu et al., SYSTOR 2009", parameters={"window": 32}, least={"window": 1}
)
def windowed_greedy(dev, plane, parameters, choice):
    """Choose, of the first `window` entries of the age list, the eligible block with most invalid pages.

    Of equals, the oldest. If none of them is eligible, widen the window to the first block that is.
    """
    best = -1
    seen = 0
    block = dev.plane[plane].age_head
    while block >= 0 and (seen < parameters[0] or best < 0):
        if eligible(dev, block) and (best < 0 or dev.block[block].invalid > dev.block[best].invalid):
            best = block
        seen += 1
        block = dev.block[block].next_age
    return whole_block(dev, choice, best)
