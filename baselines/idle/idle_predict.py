"""Predicted idle times: collect what fits the mean of the last ones, and on once the present one is long."""

from ssdgym.policy import TO_THE_END, idle_policy, move_ns, plane_to_collect


@idle_policy(
    "idle_predict",
    source="idle-time prediction by an exponential mean and a timeout, as in Golding et al., USENIX 1995;"
    " constants of ours",
    parameters={"blocks": 4, "share": 0.0, "patience": 2.0},
    minimum={"blocks": 0, "share": 0.0, "patience": 0.0},
    maximum={"share": 1.0},
)
def idle_predict(view, die, gap_ns, parameters):
    """Collect as much as fits the mean idle time of the die, and all once it is idle for longer.

    The mean is exponential, the last idle time with the weight 1/8. At the start of an idle time so many
    moves are made as fit the mean. If not one does, or they are done, the die waits until it has been idle
    for `patience` times the mean; from then on it collects without an end. `blocks` and `share` are those of
    `threshold`: other planes are left alone.
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
