"""FIFO (or LRU) cleaning: collect blocks in the order in which they entered the index."""

from ssdgym.policy import choose_block, eligible, victim_policy


@victim_policy("fifo", source="Desnoyers, SYSTOR 2012 (LRU cleaning); Menon, 1995 (circular log)")
def fifo(view, plane, parameters, choice):
    """Choose the first eligible block of the age list: the one that entered the index first."""
    block = view.plane[plane].age_head
    while block >= 0 and not eligible(view, block):
        block = view.block[block].next_age
    return choose_block(view, choice, block)
