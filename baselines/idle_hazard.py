"""An idle rule that learns the lengths of idle times, and collects while the host is unlikely to return."""

from math import log2

from ssdgym.baselines.idle import BELOW, needed_ns
from ssdgym.policy import TO_THE_END, idle_policy, kernel, move_ns, plane_to_collect

#: Number of classes of idle times by length, four per factor of two; four are below 1/16 of a relocation.
_CLASSES = 96
#: All counts are halved when their sum reaches this number.
_MOST = 2000.0


@kernel
def _unit_ns(view):
    """Return the length at which the first four classes of idle times end, in ns."""
    return max(move_ns(view) // 16, 1)


@kernel
def _class_of(view, idle_ns):
    """Return the class of an idle time."""
    return min(int(4.0 * log2(1.0 + idle_ns / _unit_ns(view))), _CLASSES - 1)


@kernel
def _start_ns(view, number):
    """Return the shortest idle time of a class."""
    return _unit_ns(view) * (2.0 ** (number / 4.0) - 1.0)


@kernel
def _share_of(view, number, first_ns, last_ns):
    """Return which share of a class of idle times lies between two lengths, `first_ns <= last_ns`."""
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

    The rule keeps one histogram of the lengths of idle times of all dies. Of the idle times that were at
    least as long as the present one is now, it finds the share that ended before the command would end. If
    this share is above `risk`, the die waits until the next class of lengths begins. If no counted idle time
    was as long (counts are halved when they reach 2,000), the die collects to the end of the round. Times of
    commands are nominal, as in `oracle_gap`; `blocks` and `share` select planes, as in `threshold`.
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
