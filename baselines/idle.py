"""Idle rules without records: how many commands of background garbage collection an idle die carries out."""

from ssdgym.policy import TO_THE_END, idle_policy, kernel, move_ns, pages_to_move, plane_to_collect

#: Parameters of the limit of free pages below which a plane is collected; `threshold` explains them.
BELOW: dict[str, tuple[float, ...]] = {"blocks": (4, 0), "share": (0.0, 0.0, 1.0)}


@kernel
def needed_ns(view, plane):
    """Return the ns of the next command of a plane's round; if no round runs, max(move_ns, erase_ns)."""
    if view.plane[plane].round_leader < 0:
        return max(move_ns(view), view.params[0].erase_ns)
    return move_ns(view) if pages_to_move(view, plane) > 0 else view.params[0].erase_ns


@idle_policy("blocking", source="folklore")
def blocking(view, die, gap_ns, parameters):
    """Collect nothing in idle times, so that all garbage collection is foreground GC."""
    return 0


@idle_policy("threshold", source="folklore", parameters=BELOW)
def threshold(view, die, gap_ns, parameters):
    """Collect while a plane of the die has fewer free pages than `blocks` blocks have pages.

    If `share` is above 0, the limit is this share of the plane's pages, whatever `blocks` is. The rule then
    does the same as the option `gc.background_fraction`.
    """
    return TO_THE_END if plane_to_collect(view, die, parameters.blocks, parameters.share) >= 0 else 0


@idle_policy(
    "idle_predict",
    source="idle-time prediction by an exponential mean and a timeout, as in Golding et al., USENIX 1995;"
    " constants of ours",
    parameters={**BELOW, "patience": (2.0, 0.0)},
)
def idle_predict(view, die, gap_ns, parameters):
    """Collect as much as fits into the die's mean idle time, and without limit in longer idle times.

    The mean is exponential and gives the last idle time the weight 1/8. At the start of an idle time the die
    carries out as many commands as relocations fit into the mean. Then it waits until it has been idle for
    `patience` times the mean, and from then on collects without limit. `blocks` and `share` select the planes
    that are collected, as in `threshold`.
    """
    if plane_to_collect(view, die, parameters.blocks, parameters.share) < 0:
        return 0
    record = view.die[die]
    idle_ns = view.control[0].now - record.idle_since
    left_ns = int(parameters.patience * record.idle_mean_gap_ns) - idle_ns
    if left_ns <= 0:
        return TO_THE_END
    fitting = record.idle_mean_gap_ns // max(move_ns(view), 1)
    return fitting if record.idle_answers == 0 and fitting > 0 else -left_ns


@idle_policy("oracle_gap", source="an oracle of ours", oracle=True, parameters=BELOW)
def oracle_gap(view, die, gap_ns, parameters):
    """Start a command only if it should end before the next request arrives.

    A round starts only if a relocation and an erase would each end before the arrival. Times are nominal,
    without waiting for channels. The next request counts even if it is for a different die. If a command does
    not fit, the die waits until 1 ns after the arrival. `blocks` and `share` select planes, as in
    `threshold`. In a closed loop the next arrival is unknown, and nothing is collected.
    """
    plane = plane_to_collect(view, die, parameters.blocks, parameters.share)
    if plane < 0 or gap_ns < 0:
        return 0
    return 1 if needed_ns(view, plane) <= gap_ns else -(gap_ns + 1)
