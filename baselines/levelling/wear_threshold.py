"""Static wear levelling by a threshold."""

from ssdgym.policy import blocks_of, erases_of, is_closed, levelling_policy


@levelling_policy(
    "wear_threshold",
    source="static wear levelling of MQSim (Tavakkol et al., FAST 2018; GC_and_WL_Unit_Base.cpp)",
    parameters={"threshold": 100},
    minimum={"threshold": 1},
)
def wear_threshold(view, plane, parameters):
    """Empty the least worn block of a plane once another one was erased `threshold` times more.

    Where the least worn block is open or free nothing moves.
    """
    least, fewest, most = -1, 0, 0
    for block in blocks_of(view, plane):
        erases = erases_of(view, block)
        if least < 0 or erases < fewest:
            least, fewest = block, erases
        most = max(most, erases)
    is_due = most - fewest >= parameters.threshold * view.params[0].sub_blocks
    return least if is_due and is_closed(view, least) else -1
