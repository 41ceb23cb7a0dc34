"""Collection by a table of values, learned while the device runs (tabular Q-learning)."""

from ssdgym.baselines.idle import BELOW
from ssdgym.policy import TO_THE_END, idle_draw, idle_policy, kernel, move_ns, plane_to_collect

_LAST, _BEFORE, _ACTED, _ACTIONS = 17, 2, 2, 8


@kernel
def _state_of(view):
    """Return the number of the state: by the last idle times, and whether the last action was to collect."""
    memory = view.memory[0]
    unit_ns = max(move_ns(view), 1)
    limit, number = unit_ns, 0
    while number < _LAST - 1 and memory.last_ns >= limit:
        limit, number = 2 * limit, number + 1
    last = number
    before = 1 if memory.before_ns >= max(view.params[0].erase_ns, 1) else 0
    return (last * _BEFORE + before) * _ACTED + (1 if memory.action > 0 else 0)


@kernel
def _best_of(view, state):
    """Return the action of highest value in a state, the first of equals."""
    values, best = view.memory[0].values, 0
    for action in range(1, _ACTIONS):
        if values[state * _ACTIONS + action] > values[state * _ACTIONS + best]:
            best = action
    return best


@kernel
def _action_at(view, state, parameters):
    """Return the action that is taken now, by the draws of this decision."""
    memory = view.memory[0]
    explore = parameters.explore if memory.decisions == 0 else memory.explore
    if idle_draw(view, memory.decisions, 0) < explore:
        return int(idle_draw(view, memory.decisions, 1) * _ACTIONS)
    return _best_of(view, state)


@idle_policy(
    "rl_gc",
    source="after Kang, Shin and Yoo, ACM TECS 16(5s), 2017: reinforcement learning of fine-grained"
    " collection in idle times against long tail latency. All constants, states and rewards are assumed",
    parameters={
        **BELOW,
        "rate": (0.3, 0.0, 1.0),
        "discount": (0.8, 0.0, 1.0),
        "explore": (0.8, 0.0, 1.0),
        "decay": (0.99, 0.0, 1.0),
        "least_explore": (0.01, 0.0, 1.0),
    },
    memory=[
        ("values", "f8", (_LAST * _BEFORE * _ACTED * _ACTIONS,)),
        ("explore", "f8"),
        ("last_ns", "i8"),
        ("before_ns", "i8"),
        ("decisions", "i8"),
        ("state", "i8"),
        ("action", "i8"),
        ("completed", "i8"),
        ("latency_ns", "i8"),
        ("usual_ns", "f8"),
    ],
)
def rl_gc(view, die, gap_ns, parameters):
    """Learn how many commands of background collection an idle die should be given.

    The abstract of the paper says that idle times are used, that collection is fine-grained, and that
    reinforcement learning decides; all that follows is assumed.

    State: the idle time that ended last, of whatever die, in 17 classes (below one move, below 2, 4, 8 ...
    moves); whether the one before was at least as long as an erase; whether the last action was to collect.
    Action: 0, 1, 2, 4, 8, 16, 32 commands or the rest of the round. Reward: `1 - l / u`, but at least -1,
    with the mean latency `l` of the requests completed since the last decision and their usual latency `u`,
    the exponential mean of `l` with the weight 1/64; 0 where none has been completed. Values start at 0 and
    are updated with `rate` (alpha) and `discount` (gamma). With the probability `explore`, which falls by the
    factor `decay` at each decision down to `least_explore`, the action is drawn uniformly: draws 0 and 1 of
    the decision. `blocks` and `share` are those of `threshold`; where no plane is below, nothing is decided.
    """
    if plane_to_collect(view, die, parameters.blocks, parameters.share) < 0:
        return 0
    action = _action_at(view, _state_of(view), parameters)
    if action == _ACTIONS - 1:
        return TO_THE_END
    return 0 if action == 0 else 1 << (action - 1)


@rl_gc.on("answered")
def learn(view, die, commands, parameters):
    """Credit the last action with what has come of it, and note the present one."""
    if plane_to_collect(view, die, parameters.blocks, parameters.share) < 0:
        return
    memory = view.memory[0]
    state = _state_of(view)
    action = _action_at(view, state, parameters)
    completed = view.control[0].serial - view.control[0].outstanding
    latency_ns = view.counters[0].read_latency_sum_ns + view.counters[0].write_latency_sum_ns
    if completed < memory.completed or latency_ns < memory.latency_ns:  # the metrics have been reset
        memory.completed, memory.latency_ns = 0, 0
    if memory.decisions > 0:
        reward = 0.0
        if completed > memory.completed:
            mean_ns = (latency_ns - memory.latency_ns) / (completed - memory.completed)
            reward = max(1.0 - mean_ns / memory.usual_ns, -1.0) if memory.usual_ns > 0.0 else 0.0
            usual_ns = memory.usual_ns if memory.usual_ns > 0.0 else mean_ns
            memory.usual_ns = usual_ns + (mean_ns - usual_ns) / 64.0
        place = memory.state * _ACTIONS + memory.action
        best = memory.values[state * _ACTIONS + _best_of(view, state)]
        memory.values[place] += parameters.rate * (reward + parameters.discount * best - memory.values[place])
    explore = parameters.explore if memory.decisions == 0 else memory.explore
    memory.explore = max(explore * parameters.decay, parameters.least_explore)
    memory.state, memory.action = state, action
    memory.completed, memory.latency_ns = completed, latency_ns
    memory.decisions += 1


@rl_gc.on("resumed")
def resumed(view, die, idle_ns, parameters):
    """Note how long the die was idle."""
    memory = view.memory[0]
    memory.before_ns, memory.last_ns = memory.last_ns, idle_ns
