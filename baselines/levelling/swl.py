"""The SW leveler with its block erasing table."""

import numpy as np

from ssdgym.policy import LEVELLING_RUNS, POLICY_STREAM, draw, is_closed, kernel, levelling_policy


@kernel
def _sets(view, k):
    """Return the sets of a plane, of `2**k` blocks each but for the last one."""
    return (np.int64(view.params[0].blocks) + (np.int64(1) << k) - 1) >> k


@kernel
def _flag_of(view, plane, k, number):
    """Return the record that holds the flag of a set: that of its first block."""
    return view.block_memory[plane * np.int64(view.params[0].blocks) + (number << k)]


@levelling_policy(
    "swl",
    source="Chang, Hsieh and Kuo, DAC 2007; written from descriptions of the algorithm, without the text",
    parameters={"threshold": 100, "k": 0},
    minimum={"threshold": 1, "k": 0},
    maximum={"k": 16},
    block=[("flag", "u1")],
    stream=[("erases", "i8"), ("flags", "i4"), ("next", "i4")],
)
def swl(view, plane, parameters):
    """Empty a block that was not erased lately while erases per flag are `threshold` or more.

    1. The block erasing table has a flag for each set of `2**k` blocks, set when one of them is erased.
    2. While the erases since the last reset are at least `threshold` for each flag that is set, the next set
       without a flag, in cyclic order, is levelled. Here one closed block of it moves behind each round of
       collection; sets without one are passed.
    3. When all flags are set and the erases are so many, all begins anew, at a random set.
    """
    state, k = view.stream_memory[plane * view.params[0].streams], np.int64(parameters.k)
    if state.flags == 0 or state.erases < parameters.threshold * state.flags:
        return -1
    blocks, sets = np.int64(view.params[0].blocks), _sets(view, k)
    for step in range(sets):
        number = (state.next + step) % sets
        if _flag_of(view, plane, k, number).flag == 0:
            for block in range(number << k, min((number + 1) << k, blocks)):
                if is_closed(view, plane * blocks + block):
                    return plane * blocks + block
    return -1


@swl.on("erased")
def update_table(view, plane, block, parameters):
    """Count an erase, set the flag of its set, and begin anew where all are set."""
    state, k = view.stream_memory[plane * view.params[0].streams], np.int64(parameters.k)
    blocks, sets = np.int64(view.params[0].blocks), _sets(view, k)
    number = (block - plane * blocks) >> k
    state.erases += 1
    record = _flag_of(view, plane, k, number)
    state.flags += record.flag == 0
    record.flag = 1
    if view.plane[plane].levelling == LEVELLING_RUNS:
        state.next = (number + 1) % sets
    if state.flags == sets and state.erases >= parameters.threshold * sets:
        for other in range(sets):
            _flag_of(view, plane, k, other).flag = 0
        drawn = draw(view.params[0].seed, POLICY_STREAM, view.control[0].rounds, 0)
        state.next = np.int64(drawn >> np.uint64(33)) % sets
        state.erases = 0
        state.flags = 0
