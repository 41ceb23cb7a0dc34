"""Cost-benefit cleaning: the space a block gives back against its cost, weighted by its age."""

import math

from ssdgym.policy import blocks_of, choose_block, eligible, kernel, victim_policy


@kernel
def benefit_of(view, block, exponent, since_close):
    """Return `age**exponent * invalid / (2 * valid)` of a block, infinite for one without a valid page."""
    record = view.block[block]
    since = record.closed_at if since_close != 0.0 else record.invalidated_at
    age = float(view.control[0].clock - since + 1)
    if exponent == 0.5:
        age = math.sqrt(age)  # a few times as fast as a power
    elif exponent != 1.0:
        age = age**exponent
    valid = record.written - record.invalid
    return age * record.invalid / (2.0 * valid) if valid > 0 else float("inf")


@victim_policy(
    "cost_benefit",
    source="Kawaguchi, Nishioka and Motoda, USENIX 1995",
    parameters={"exponent": 1.0, "since_close": 0},
    minimum={"exponent": 0},
)
def cost_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `age**exponent * invalid / (2 * valid)`.

    The age is `clock - invalidated_at + 1` host pages, or `clock - closed_at + 1` if `since_close` is not 0.
    A block without a valid page comes before all others; of equals, the lowest number.
    """
    best = -1
    best_score = -1.0
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        score = benefit_of(view, block, parameters.exponent, parameters.since_close)
        if score > best_score:
            best = block
            best_score = score
    return choose_block(view, choice, best)
