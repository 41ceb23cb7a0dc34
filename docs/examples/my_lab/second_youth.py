"""Greedy that spares blocks that were filled only recently."""

from ssdgym.policy import blocks_of, choose_block, eligible, victim_policy


@victim_policy("second_youth", source="an example", parameters={"spared": (200, 0)})
def second_youth(view, plane, parameters, choice):
    """Choose the block with most invalid pages, if possible one closed `spared` or more host pages ago."""
    newest = view.control[0].clock - parameters.spared
    best, most = -1, 0
    for block in blocks_of(view, plane):
        record = view.block[block]
        if eligible(view, block):
            score = record.invalid + (view.params[0].pages_per_block if record.closed_at <= newest else 0)
            if score > most:
                best, most = block, score
    return choose_block(view, choice, best)
