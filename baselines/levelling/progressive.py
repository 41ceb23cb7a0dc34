"""Progressive wear levelling: the nearer the end, the more evenly."""

from ssdgym.policy import erases_of, least_worn_closed, levelling_policy, most_worn_free


@levelling_policy(
    "progressive",
    source="PWL (Chen et al., DATE 2015); written from the abstract, the schedule is ours",
    parameters={"endurance": 3000, "share": 0.1, "least": 2},
    minimum={"endurance": 1, "share": 0.0, "least": 1},
    maximum={"share": 1.0},
)
def progressive(view, plane, parameters):
    """Empty the least worn block once a free block was erased so much more that it may wear out first.

    The difference allowed is `share` of the erases that the free block has left of `endurance`, and at least
    `least`: early in the life of a device nothing moves.
    """
    worn, cold = most_worn_free(view, plane), least_worn_closed(view, plane)
    if worn < 0 or cold < 0:
        return -1
    erases, sub_blocks = erases_of(view, worn), view.params[0].sub_blocks
    left = parameters.share * (parameters.endurance * sub_blocks - erases)
    return cold if erases - erases_of(view, cold) > max(left, parameters.least * sub_blocks) else -1
