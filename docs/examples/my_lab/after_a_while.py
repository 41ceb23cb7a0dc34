"""Collect when a die has been idle for some time."""

from ssdgym.policy import TO_THE_END, idle_policy, plane_to_collect


@idle_policy(
    "after_a_while",
    source="an example",
    parameters={"blocks": (8, 0), "wait_ns": (1_000_000, 1)},
)
def after_a_while(view, die, gap_ns, parameters):
    """Wait for `wait_ns`, then run whole rounds in planes with fewer free pages than `blocks` blocks have."""
    if plane_to_collect(view, die, parameters.blocks, 0.0) < 0:
        return 0
    idle_ns = view.control[0].now - view.die[die].idle_since
    left_ns = int(parameters.wait_ns) - idle_ns
    return TO_THE_END if left_ns <= 0 else -left_ns
