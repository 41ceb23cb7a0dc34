"""Merge rules: a Merge erases whole blocks of a bundle, an M-Merge only partial blocks (PEN, FAST 2018)."""

from ssdgym.policy import merge_policy


@merge_policy(
    "merge",
    source="NFTL, and the superblock FTL of Kang et al., EMSOFT 2006, as baselines of Liu et al., PEN,"
    " FAST 2018",
)
def merge(plans, case, parameters):
    """Choose the Merge in every case: copy the valid pages to other blocks and erase whole blocks."""
    return 0


@merge_policy("mmerge", source="Liu et al., PEN, FAST 2018, Algorithms 1 to 3")
def mmerge(plans, case, parameters):
    """Choose the M-Merge of the partial blocks of Algorithm 1 if it is allowed and costs less than a Merge.

    At equal cost the Merge is chosen, because it resets the bundle's count of M-Merges, which is limited.
    """
    planned = case[0].candidates - 1
    return planned if plans[planned].allowed and plans[planned].cost_ns < plans[0].cost_ns else 0


@merge_policy(
    "mmerge_fixed",
    source="Liu et al., PEN, FAST 2018, section 5.1: partial erase of one size",
    parameters={"depth": (3, 0, 6)},
)
def mmerge_fixed(plans, case, parameters):
    """Choose the M-Merge at depth `depth` if it is allowed and costs less than a Merge.

    It erases the partial blocks of level `depth` that have an invalid page. Such a partial block is the
    `2**depth`-th part of a block, or the smallest partial block of the device if that is larger.
    """
    fixed = 1 + min(int(parameters.depth), case[0].levels)
    return fixed if plans[fixed].allowed and plans[fixed].cost_ns < plans[0].cost_ns else 0


@merge_policy("cheapest_plan", source="ssdgym; the optimum if each decision is considered by itself")
def cheapest_plan(plans, case, parameters):
    """Choose the allowed candidate of least cost; a tie goes to the candidate with the lowest number."""
    best = 0
    for number in range(1, case[0].candidates):
        if plans[number].allowed and plans[number].cost_ns < plans[best].cost_ns:
            best = number
    return best
