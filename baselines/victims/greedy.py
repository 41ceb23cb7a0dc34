"""Greedy cleaning: the block with most invalid pages."""

from ssdgym.policy import choose_block, most_invalid_block, victim_policy


@victim_policy("greedy", source="Wu and Zwaenepoel, ASPLOS 1994; analysed by Desnoyers, SYSTOR 2012")
def greedy(view, plane, parameters, choice):
    """Choose the block with most invalid pages; on a tie, the block that reached this number first."""
    return choose_block(view, choice, most_invalid_block(view, plane))
