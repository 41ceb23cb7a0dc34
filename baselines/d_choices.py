"""d-choices: the best of d random blocks."""

from ssdgym.policy import POLICY_STREAM, random_eligible, victim_policy, whole_block

DRAWS_PER_CHOICE = 65


@victim_policy(
    "d_choices",
    source="Van Houdt, SIGMETRICS 2013, but drawn from the blocks with an invalid page",
    parameters={"d": 10},
    least={"d": 1},
)
def d_choices(dev, plane, parameters, choice):
    """Choose, of `d` uniform eligible blocks, the one with most invalid pages, the first drawn of equals.

    Choice `j` uses the draws `65 j + (0..64)` as `random` does.
    """
    best = random_eligible(dev, plane, POLICY_STREAM, 0)
    for j in range(1, int(parameters[0])):
        block = random_eligible(dev, plane, POLICY_STREAM, DRAWS_PER_CHOICE * j)
        if block >= 0 and dev.block[block].invalid > dev.block[best].invalid:
            best = block
    return whole_block(dev, choice, best)
