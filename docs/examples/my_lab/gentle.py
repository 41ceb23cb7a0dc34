"""Choose an M-Merge as long as it copies few pages."""

from ssdgym.policy import merge_policy


@merge_policy("gentle", source="an example", parameters={"share": (0.25, 0.0)})
def gentle(plans, case, parameters):
    """Take the cheapest M-Merge that copies at most `share` of the pages of a block, otherwise a Merge."""
    best = 0
    for number in range(1, case[0].candidates):
        plan = plans[number]
        few = plan.copies <= parameters.share * case[0].block_pages
        if plan.allowed and few and (best == 0 or plan.cost_ns < plans[best].cost_ns):
            best = number
    return best
