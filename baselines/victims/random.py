"""Random victim: the baseline of all rules."""

from ssdgym.policy import POLICY_STREAM, choose_block, random_eligible, victim_policy


@victim_policy(
    "random",
    source="Van Houdt, SIGMETRICS 2013 (random selection), but among the blocks with an invalid page: write"
    " amplification 1 / (1 - u (1 - 1/b)) with b pages a block, not 1 / (1 - u)",
)
def random(view, plane, parameters, choice):
    """Choose an eligible block uniformly at random.

    Try `k = 0..63`: block `below(B)` of draw `k`, the first eligible one; then, from the draw 64 upwards
    (wrapping), the first eligible one.
    """
    return choose_block(view, choice, random_eligible(view, plane, POLICY_STREAM, 0))
