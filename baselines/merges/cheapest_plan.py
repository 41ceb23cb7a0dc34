"""The way of merging that costs least."""

from ssdgym.policy import merge_policy


@merge_policy("cheapest_plan", source="ours: the best answer to one decision by itself")
def cheapest_plan(plans, case, parameters):
    """Take the candidate that is allowed and costs least; of equals the one with the lowest number."""
    best = 0
    for number in range(1, case[0].candidates):
        if plans[number].allowed and plans[number].cost_ns < plans[best].cost_ns:
            best = number
    return best
