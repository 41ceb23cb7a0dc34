"""How the blocks of a bundle are merged: a Merge, an M-Merge, or the cheapest of all."""

from ssdgym.policy import merge_policy


@merge_policy(
    "merge",
    source="NFTL, and the superblock FTL of Kang et al., EMSOFT 2006, as compared with in Liu et al., PEN,"
    " FAST 2018",
)
def merge(plans, case, parameters):
    """Copy the valid pages elsewhere and erase whole blocks, whatever it costs."""
    return 0


@merge_policy("mmerge", source="Liu et al., PEN, FAST 2018, Algorithms 1 to 3")
def mmerge(plans, case, parameters):
    """Erase the partial blocks of Algorithm 1 in place if that is allowed and costs less than a Merge.

    At equal cost the Merge is taken: it resets the bundle's count of M-Merges.
    """
    planned = case[0].candidates - 1
    return planned if plans[planned].allowed and plans[planned].cost_ns < plans[0].cost_ns else 0


@merge_policy(
    "mmerge_fixed",
    source="Liu et al., PEN, FAST 2018, section 5.1: partial erase of one size",
    parameters={"depth": (3, 0, 6)},
)
def mmerge_fixed(plans, case, parameters):
    """Erase the partial blocks of level `depth` with an invalid page if that is allowed and beats a Merge.

    An M-Merge beats a Merge if it costs less. A partial block of level `depth` is the `2**depth`-th part of a
    block; if the smallest parts of the device are larger, these are erased.
    """
    fixed = 1 + min(int(parameters.depth), case[0].levels)
    return fixed if plans[fixed].allowed and plans[fixed].cost_ns < plans[0].cost_ns else 0


@merge_policy("cheapest_plan", source="ours: the best answer to one decision by itself")
def cheapest_plan(plans, case, parameters):
    """Take the allowed candidate that costs least; ties go to the lowest number."""
    best = 0
    for number in range(1, case[0].candidates):
        if plans[number].allowed and plans[number].cost_ns < plans[best].cost_ns:
            best = number
    return best
