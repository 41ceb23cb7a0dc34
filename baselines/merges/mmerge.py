"""M-Merge by Algorithm 1, where it is cheaper than a Merge."""

from ssdgym.policy import merge_policy


@merge_policy("mmerge", source="Liu et al., PEN, FAST 2018, Algorithms 1 to 3")
def mmerge(plans, case, parameters):
    """Erase the partial blocks of Algorithm 1 in place if that is allowed and costs less than a Merge.

    Of equals the Merge is taken: after it the M-Merges of the bundle are counted anew.
    """
    planned = case[0].candidates - 1
    return planned if plans[planned].allowed and plans[planned].cost_ns < plans[0].cost_ns else 0
