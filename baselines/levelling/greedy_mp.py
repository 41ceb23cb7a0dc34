"""The migrations of Greedy-MP."""

from ssdgym.policy import blocks_of, erases_of, is_closed, levelling_policy, most_worn_free


@levelling_policy(
    "greedy_mp",
    source="Greedy-MP (Shin, Appl. Sci. 14(18), 8186, 2024); written from the abstract",
    parameters={"threshold": 8},
    minimum={"threshold": 1},
)
def greedy_mp(view, plane, parameters):
    """Move cold data to a free block that was erased `threshold` times more than the mean of the plane.

    Cold is the block that was closed longest ago of those erased less than the mean. Greedy-MP also keeps
    blocks that have taken such data out of garbage collection, which is left to the victim rule here.
    """
    params, worn = view.params[0], most_worn_free(view, plane)
    total = 0
    for block in blocks_of(view, plane):
        total += erases_of(view, block)
    excess = params.blocks * erases_of(view, max(worn, 0)) - total
    if worn < 0 or excess <= parameters.threshold * params.sub_blocks * params.blocks:
        return -1
    coldest = -1
    for block in blocks_of(view, plane):
        may_move = is_closed(view, block) and params.blocks * erases_of(view, block) < total
        if may_move and (coldest < 0 or view.block[block].closed_at < view.block[coldest].closed_at):
            coldest = block
    return coldest
