"""FIFO (or LRU) cleaning: collect blocks in the order in which they were filled."""

from ssdgym.policy import choose_block, eligible, victim_policy


@victim_policy("fifo", source="Desnoyers, SYSTOR 2012 (LRU cleaning); Menon, 1995 (circular log)")
def fifo(view, plane, parameters, choice):
    """Choose the first eligible block of the age list: of those with invalid pages, the one closed first."""
    block = view.plane[plane].age_head
    while block >= 0 and not eligible(view, block):
        block = view.block[block].next_age
    return choose_block(view, choice, block)
