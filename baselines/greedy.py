"""Greedy cleaning: the block with most invalid pages."""

from ssdgym.policy import most_invalid_block, victim_policy, whole_block


@victim_policy("greedy", source="Wu and Zwaenepoel, ASPLOS 1994; analysed by Desnoyers, SYSTOR 2012")
def greedy(dev, plane, parameters, choice):
    """Choose the block with most invalid pages; of equals, the one that came to this number first."""
    return whole_block(dev, choice, most_invalid_block(dev, plane))
