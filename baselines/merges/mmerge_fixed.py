"""M-Merge with partial blocks of one size, where it is cheaper than a Merge."""

from ssdgym.policy import merge_policy


@merge_policy(
    "mmerge_fixed",
    source="Liu et al., PEN, FAST 2018, section 5.1: partial erase of one size",
    parameters={"depth": 3},
    minimum={"depth": 0},
    maximum={"depth": 6},
)
def mmerge_fixed(plans, case, parameters):
    """Erase the partial blocks of level `depth` with an invalid page if that is allowed and beats a Merge.

    It beats a Merge if it costs less. A partial block of level `depth` is the `2**depth`-th part of a block;
    on a device whose smallest ones are larger, these are erased.
    """
    fixed = 1 + min(int(parameters.depth), case[0].levels)
    return fixed if plans[fixed].allowed and plans[fixed].cost_ns < plans[0].cost_ns else 0
