"""Blocking collection: idle dies do nothing."""

from ssdgym.policy import idle_policy


@idle_policy("blocking", source="folklore")
def blocking(view, die, gap_ns, parameters):
    """Collect nothing in idle times: the host waits for all garbage collection, as it comes."""
    return 0
