"""Static wear levelling by a threshold."""

from ssdgym.policy import blocks_of, erases_of, least_worn_closed, levelling_policy


@levelling_policy(
    "wear_threshold",
    source="static wear levelling of MQSim (Tavakkol et al., FAST 2018; GC_and_WL_Unit_Base.cpp)",
    parameters={"threshold": 100},
    minimum={"threshold": 1},
)
def wear_threshold(view, plane, parameters):
    """Empty the least worn closed block of a plane once another one was erased `threshold` times more."""
    closed, most = least_worn_closed(view, plane), 0
    if closed < 0:
        return -1
    for block in blocks_of(view, plane):
        most = max(most, erases_of(view, block))
    limit = parameters.threshold * view.params[0].sub_blocks
    return closed if most - erases_of(view, closed) >= limit else -1
