"""Greedy that spares blocks whose pages are being overwritten at present."""

from ssdgym.policy import blocks_of, choose_block, eligible, victim_policy


@victim_policy(
    "ripening",
    source="an example",
    parameters={"weight": (0.5, 0)},
    block=[("heat", "f8"), ("heated_at", "i8")],
)
def ripening(view, plane, parameters, choice):
    """Choose the block with the largest number of invalid pages minus `weight` times its heat.

    Heat counts pages of the block that the host has overwritten. It is halved for every
    `blocks * pages_per_block` host pages since the last of them.
    """
    clock, params = view.control[0].clock, view.params[0]
    best, best_score = -1, -1e9
    for block in blocks_of(view, plane):
        if eligible(view, block):
            memory = view.block_memory[block]
            age = (clock - memory.heated_at) / (params.blocks * params.pages_per_block)
            score = view.block[block].invalid - parameters.weight * memory.heat * 0.5**age
            if score > best_score:
                best, best_score = block, score
    return choose_block(view, choice, best)


@ripening.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Add heat to the block whose page has been overwritten."""
    if old_page >= 0:
        memory = view.block_memory[old_page // view.params[0].pages_per_block]
        memory.heat += 1
        memory.heated_at = view.control[0].clock


@ripening.on("erased")
def erased(view, plane, block, parameters):
    """Set the heat of an erased block to 0."""
    view.block_memory[block].heat = 0
