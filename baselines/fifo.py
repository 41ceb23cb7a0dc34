"""FIFO (or LRU) cleaning: collect blocks in the order in which they were filled."""

from ssdgym.policy import eligible, victim_policy, whole_block


@victim_policy("fifo", source="Desnoyers, SYSTOR 2012 (LRU cleaning); Menon, 1995 (circular log)")
def fifo(dev, plane, parameters, choice):
    """Choose the first eligible block of the age list: of those with invalid pages, the one closed first."""
    block = dev.plane[plane].age_head
    while block >= 0 and not eligible(dev, block):
        block = dev.block[block].next_age
    return whole_block(dev, choice, block)
