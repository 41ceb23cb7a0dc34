"""Cost-benefit cleaning: what a block gives back, against what it costs, weighted by its age."""

from ssdgym.policy import blocks_of, eligible, victim_policy, whole_block


@victim_policy(
    "cost_benefit",
    source="Kawaguchi, Nishioka and Motoda, USENIX 1995",
    parameters={"exponent": 1.0, "since_close": 0},
    least={"exponent": 0},
)
def cost_benefit(dev, plane, parameters, choice):
    """The block with the largest ``age**exponent * (1 - u) / (2 u)``, the lowest number of equals.

    Age is counted in host pages since the block's last invalidation, or since it closed if ``since_close`` is
    not 0.
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
