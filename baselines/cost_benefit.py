"""Cost-benefit cleaning: the space a block gives back against its cost, weighted by its age."""

from ssdgym.policy import blocks_of, eligible, victim_policy, whole_block


@victim_policy(
    "cost_benefit",
    source="Kawaguchi, Nishioka and Motoda, USENIX 1995",
    parameters={"exponent": 1.0, "since_close": 0},
    least={"exponent": 0},
)
def cost_benefit(dev, plane, parameters, choice):
    """Choose the eligible block with the largest `age**exponent * invalid / (2 * valid)`.

    The age is `clock - invalidated_at + 1` host pages, or `clock - closed_at + 1` if `since_close` is not 0.
    A block without a valid page comes before all others; of equals, the lowest number.
    """
    clock = dev.control[0].clock
    best = -1
    best_score = -1.0
    for block in blocks_of(dev, plane):
        if not eligible(dev, block):
            continue
        record = dev.block[block]
        since = record.closed_at if parameters[1] != 0.0 else record.invalidated_at
        age = float(clock - since + 1)
        if parameters[0] != 1.0:
            age = age ** parameters[0]
        valid = record.written - record.invalid
        score = age * record.invalid / (2.0 * valid) if valid > 0 else float("inf")
        if score > best_score:
            best = block
            best_score = score
    return whole_block(dev, choice, best)
