"""The victims of MiDAS: the oldest block of a group over its size, otherwise a block of the last group."""

from ssdgym.baselines.victims.cost_benefit import benefit_of
from ssdgym.policy import best_by, choose_block, eligible, kernel, victim_policy


@kernel
def _oldest_over_size(view, plane):
    """Return the oldest eligible block of the first group that has more blocks than its size; -1 for none.

    Its older blocks, which are not eligible, count as blocks of the next group, where `midas` moves them.
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
def _benefit(view, block, parameters):
    return benefit_of(view, block, 0.5, 1.0)


@kernel
def _benefit_in_last(view, block, parameters):
    is_in = view.block_memory[block].group >= view.memory[0].last
    return _benefit(view, block, parameters) if is_in else -1.0


_best_of_all, _best_of_last = best_by(_benefit), best_by(_benefit_in_last)


@victim_policy("chain", source="Oh et al., MiDAS, FAST 2024", shares_memory_with="midas")
def chain(view, plane, parameters, choice):
    """Choose the oldest block of the first `midas` group over its size, however many valid pages it has.

    If the block has no invalid page, `midas` moves it to the next group, and the search goes on. If no group
    is over its size, choose the block of the last group, tail included, that
    `cost_benefit(exponent=0.5, since_close=1)` would choose. If the groups have no sizes yet, or the last
    group has no eligible block, choose in this way among all blocks.
    """
    block = -1
    if view.memory[0].last > 1:
        block = _oldest_over_size(view, plane)
        if block < 0:
            block = _best_of_last(view, plane, parameters)
    if block < 0:
        block = _best_of_all(view, plane, parameters)
    return choose_block(view, choice, block)
