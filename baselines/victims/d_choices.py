"""d-choices: the best of d random blocks."""

from ssdgym.policy import DRAWS_PER_CHOICE, POLICY_STREAM, choose_block, random_eligible, victim_policy


@victim_policy(
    "d_choices",
    source="Van Houdt, SIGMETRICS 2013, but drawn from the blocks with an invalid page",
    parameters={"d": (10, 1)},
)
def d_choices(view, plane, parameters, choice):
    """Draw `d` eligible blocks at random; choose the block with most invalid pages, on a tie the first drawn.

    Block `j`, from 0 to `d - 1`, is drawn as in `random`, with the draws `65 j` to `65 j + 64`.
    """
    best = random_eligible(view, plane, POLICY_STREAM, 0)
    for j in range(1, int(parameters.d)):
        block = random_eligible(view, plane, POLICY_STREAM, DRAWS_PER_CHOICE * j)
        if block >= 0 and view.block[block].invalid > view.block[best].invalid:
            best = block
    return choose_block(view, choice, best)
