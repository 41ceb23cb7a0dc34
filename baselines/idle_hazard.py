"""An idle rule that learns the lengths of idle times, and collects while the host is unlikely to return."""

from math import log2

from ssdgym.baselines.idle import BELOW, needed_ns
from ssdgym.policy import TO_THE_END, idle_policy, kernel, move_ns, plane_to_collect

#: Number of classes of idle times: four below 1/16 of a relocation's time, then about four per doubling.
_CLASSES = 96
#: All counts are halved when their sum reaches this number.
_MOST = 2000.0


@kernel
def _unit_ns(view):
    """Return 1/16 of the time of a relocation in ns, at least 1: the end of the fourth class."""
    return max(move_ns(view) // 16, 1)


@kernel
def _class_of(view, idle_ns):
    """Return the class, from 0 up, of an idle time in ns."""
    return min(int(4.0 * log2(1.0 + idle_ns / _unit_ns(view))), _CLASSES - 1)


@kernel
def _start_ns(view, number):
    """Return the shortest idle time of a class, in ns."""
    return _unit_ns(view) * (2.0 ** (number / 4.0) - 1.0)


@kernel
def _share_of(view, number, first_ns, last_ns):
    """Return the share of a class's range of lengths that lies between `first_ns` and `last_ns`."""
    start_ns, end_ns = _start_ns(view, number), _start_ns(view, number + 1)
    return max(min(last_ns, end_ns) - max(first_ns, start_ns), 0.0) / (end_ns - start_ns)


@idle_policy(
    "idle_hazard",
    source="ssdgym",
    parameters={**BELOW, "risk": (0.05, 0.0, 1.0)},
    memory=[("count", "f8", (_CLASSES,)), ("total", "f8")],
)
def idle_hazard(view, die, gap_ns, parameters):
    """Start a command only if the host is unlikely to return before it ends.

    The rule keeps one histogram of the lengths of past idle times of all dies. From the idle times that were
    at least as long as the present one is so far, it computes the share that ended before the command would
    end. If this share is above `risk`, the die waits until its idle time reaches the next class of lengths.
    If no idle time was so long (the count is below 1), the die collects to the end of the round. All counts
    are halved when their sum reaches 2,000. Times are nominal, and `blocks` and `share` as in `threshold`.
    """
    plane = plane_to_collect(view, die, parameters.blocks, parameters.share)
    if plane < 0:
        return 0
    idle_ns = view.control[0].now - view.die[die].idle_since
    end_ns = idle_ns + needed_ns(view, plane)
    first = _class_of(view, idle_ns)
    longer, ended = 0.0, 0.0
    for number in range(first, _CLASSES):
        count = view.memory[0].count[number]
        longer += count * _share_of(view, number, idle_ns, float("inf"))
        ended += count * _share_of(view, number, idle_ns, end_ns)
    if longer < 1.0:
        return TO_THE_END
    if ended <= parameters.risk * longer:
        return 1
    return -(max(int(_start_ns(view, first + 1)) - idle_ns, 0) + 1)


@idle_hazard.on("resumed")
def resumed(view, die, idle_ns, parameters):
    """Count an idle time that has ended."""
    memory = view.memory[0]
    memory.count[_class_of(view, idle_ns)] += 1.0
    memory.total += 1.0
    if memory.total >= _MOST:
        memory.total /= 2.0
        for number in range(_CLASSES):
            memory.count[number] /= 2.0
