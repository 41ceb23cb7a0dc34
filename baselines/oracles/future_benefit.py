"""Cost-benefit cleaning with the remaining lifetimes of a block's valid pages."""

from ssdgym.policy import blocks_of, choose_block, eligible, victim_policy


@victim_policy(
    "future_benefit",
    source="A bound; cost-benefit with the age to come in place of the past one",
    shares_memory_with="oracle_k",
)
def future_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `invalid / valid * life`.

    `life` is the mean number of host pages that its valid pages still live. A block without a valid page
    comes before all others; of equals, the lowest number.
    """
    clock = view.control[0].clock
    best = -1
    best_score = -1.0
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        record = view.block[block]
        valid = record.written - record.invalid
        score = float("inf")
        if valid > 0:
            life = view.block_memory[block].deaths / valid - clock
            score = record.invalid / valid * max(life, 0.0)
        if score > best_score:
            best = block
            best_score = score
    return choose_block(view, choice, best)
