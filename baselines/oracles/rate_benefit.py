"""Cost-benefit cleaning with the write rates of a block's valid pages."""

import math

from ssdgym.policy import blocks_of, choose_block, eligible, victim_policy


@victim_policy(
    "rate_benefit",
    source="A bound; cost-benefit with the true rates of a block's pages in place of its age",
    shares_memory_with="oracle_rate",
)
def rate_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `invalid / valid * sqrt(valid / writes)`.

    `writes` are those of its valid pages in the whole run. A block without a valid page, or without one that
    is ever written, comes before all others; of equals, the lowest number.
    """
    best = -1
    best_score = -1.0
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        record = view.block[block]
        valid, writes = record.written - record.invalid, view.block_memory[block].writes
        score = float("inf")
        if valid > 0 and writes > 0:
            score = record.invalid / valid * math.sqrt(valid / writes)
        if score > best_score:
            best = block
            best_score = score
    return choose_block(view, choice, best)
