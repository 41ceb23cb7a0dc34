"""Windowed greedy: greedy among the blocks that closed longest ago."""

from ssdgym.policy import choose_block, eligible, victim_policy


@victim_policy("windowed_greedy", source="Hu et al., SYSTOR 2009", parameters={"window": (32, 1)})
def windowed_greedy(view, plane, parameters, choice):
    """Choose the eligible block with most invalid pages among the first `window` blocks of the age list.

    On a tie the oldest block is chosen. If none of these blocks is eligible, the first eligible block of the
    list is chosen.
    """
    best = -1
    seen = 0
    block = view.plane[plane].age_head
    while block >= 0 and (seen < parameters.window or best < 0):
        if eligible(view, block) and (best < 0 or view.block[block].invalid > view.block[best].invalid):
            best = block
        seen += 1
        block = view.block[block].next_age
    return choose_block(view, choice, best)
