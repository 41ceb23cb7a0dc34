"""The victims of MiDAS: groups that have grown too large give their oldest block, else the last group one."""

from ssdgym.baselines.victims.cost_benefit import benefit, best_of_all
from ssdgym.policy import (
    best_by,
    choose_block,
    eligible,
    kernel,
    most_invalid_block,
    next_by_invalid,
    victim_policy,
)


@kernel
def _oldest_over_size(view, plane):
    """Return the oldest eligible block of the first group that is larger than its size; -1 if none is.

    Blocks without an invalid page do not hold a group at its size: `midas` passes them on.
    """
    memory = view.memory[0]
    passed = 0
    for group in range(memory.last):
        records = view.stream_memory[plane * view.params[0].streams + group]
        over = records.sealed + passed - memory.limit[group]
        passed = max(over, 0)
        block = records.oldest
        while over > 0 and block >= 0:
            if eligible(view, block):
                return block
            block = view.block_memory[block].next
            over -= 1
    return -1


@kernel
def _most_invalid_from(view, plane, first):
    """Return the block with most invalid pages of the groups from `first` on; -1 if there is none."""
    block = most_invalid_block(view, plane)
    while block >= 0 and view.block_memory[block].group < first:
        block = next_by_invalid(view, plane, block)
    return block


@kernel
def _benefit_in_last(view, block, parameters):
    is_in = view.block_memory[block].group >= view.memory[0].last
    return benefit(view, block, parameters) if is_in else -1.0


_best_of_last = best_by(_benefit_in_last)


@kernel
def _best_from(view, plane, first, parameters):
    """Return the block of the groups from `first` on, 0 or the last, that the inner rule chooses; or -1."""
    if parameters.greedy != 0.0:
        return _most_invalid_from(view, plane, first)
    return _best_of_last(view, plane, parameters) if first > 0 else best_of_all(view, plane, parameters)


@victim_policy(
    "chain",
    source="Oh et al., MiDAS, FAST 2024",
    parameters={"greedy": 0, "exponent": (0.5, 0), "since_close": 1},
    shares_memory_with="midas",
)
def chain(view, plane, parameters, choice):
    """Choose the oldest block of the first group that is over its size, however much of it is valid.

    A block without an invalid page is no victim: it counts as one of the next group, where `midas` puts it.
    If no group is over its size, choose within the last group, or the whole tail: by `cost_benefit` with
    `exponent` and `since_close`, or the block with most invalid pages if `greedy` is not 0. As long as no
    configuration is in force, and if there is no block to choose, do so among all blocks.
    """
    last = view.memory[0].last
    block = -1
    if last > 1:
        block = _oldest_over_size(view, plane)
        if block < 0:
            block = _best_from(view, plane, last, parameters)
    if block < 0:
        block = _best_from(view, plane, 0, parameters)
    return choose_block(view, choice, block)
