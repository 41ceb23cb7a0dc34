"""Random victim: a baseline for other rules."""

from ssdgym.policy import POLICY_STREAM, choose_block, random_eligible, victim_policy


@victim_policy(
    "random",
    source="Van Houdt, SIGMETRICS 2013 (random selection), but among the blocks with an invalid page: write"
    " amplification 1 / (1 - u (1 - 1/b)), not 1 / (1 - u), for b pages per block and a valid share u",
)
def random(view, plane, parameters, choice):
    """Choose an eligible block uniformly at random.

    Draws 0 to 63 each select a block, `below(B)`; the first eligible block is chosen. If none is eligible,
    the search goes upwards from the block of draw 64, wrapping.
    """
    return choose_block(view, choice, random_eligible(view, plane, POLICY_STREAM, 0))
