"""Random victim: the yardstick every other rule is held against."""

from ssdgym.policy import POLICY_STREAM, random_eligible, victim_policy, whole_block


@victim_policy(
    "random",
    source="Van Houdt, SIGMETRICS 2013 (random selection), but among the blocks with an invalid page: write"
    " amplification 1 / (1 - u (1 - 1/b)) with b pages a block, not 1 / (1 - u)",
)
def random(dev, plane, parameters, choice):
    """A block with invalid pages, uniformly at random."""
    return whole_block(dev, choice, random_eligible(dev, plane, POLICY_STREAM, 0))
