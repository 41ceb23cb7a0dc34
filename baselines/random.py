"""Random victim: the baseline of all rules."""

from ssdgym.policy import POLICY_STREAM, random_eligible, victim_policy, whole_block


@victim_policy(
    "random",
    source="Van Houdt, SIGMETRICS 2013 (random selection), but among the blocks with an invalid page: write"
    " amplification 1 / (1 - u (1 - 1/b)) with b pages a block, not 1 / (1 - u)",
)
def random(dev, plane, parameters, choice):
    """Choose an eligible block uniformly at random.

    Try `k = 0..63`: block `below(B)` of draw `k`, the first eligible one; then, from the draw 64 upwards
    (wrapping), the first eligible one.
    """
    return whole_block(dev, choice, random_eligible(dev, plane, POLICY_STREAM, 0))
