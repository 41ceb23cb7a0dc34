"""Collection by a rule with the time of the next arrival."""

from ssdgym.policy import idle_policy, move_ns, pages_to_move, plane_to_collect


@idle_policy(
    "clairvoyant_gap",
    source="an oracle of ours",
    clairvoyant=True,
    parameters={"blocks": 4, "share": 0.0},
    minimum={"blocks": 0, "share": 0.0},
    maximum={"share": 1.0},
)
def clairvoyant_gap(view, die, gap_ns, parameters):
    """Start a command only if it should end before the next request arrives.

    A round starts only if an erase fits, too. Times are nominal, without waiting for channels, and the
    request may be for another die; what no longer fits waits until it has arrived. `blocks` and `share` are
    those of `threshold`. In a closed loop nothing is known, and nothing is collected.
    """
    plane = plane_to_collect(view, die, parameters.blocks, parameters.share)
    if plane < 0 or gap_ns < 0:
        return 0
    if view.plane[plane].round_leader >= 0:
        moves = pages_to_move(view, plane)
        needed_ns = move_ns(view) if moves > 0 else view.params[0].erase_ns
    else:
        needed_ns = max(move_ns(view), view.params[0].erase_ns)
    return 1 if needed_ns <= gap_ns else -(gap_ns + 1)
