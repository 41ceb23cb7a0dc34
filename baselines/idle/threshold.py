"""Background collection below a threshold, whatever is to come."""

from ssdgym.policy import TO_THE_END, idle_policy, plane_to_collect


@idle_policy(
    "threshold",
    source="folklore",
    parameters={"blocks": 4, "share": 0.0},
    minimum={"blocks": 0, "share": 0.0},
    maximum={"share": 1.0},
)
def threshold(view, die, gap_ns, parameters):
    """Collect as long as a plane of the die has few free pages.

    That is fewer than `blocks` blocks have or, if `share` is above 0, fewer than this share of the plane;
    then the rule does what `gc.background_fraction` does.
    """
    return TO_THE_END if plane_to_collect(view, die, parameters.blocks, parameters.share) >= 0 else 0
