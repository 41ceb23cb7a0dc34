"""The victims of DOGI: blocks whose pages should have died by now, else one of the coldest groups."""

from ssdgym.baselines.cost_benefit import benefit_of
from ssdgym.baselines.dogi.placement import group_of
from ssdgym.policy import blocks_of, choose_block, eligible, kernel, most_invalid_block, victim_policy


@kernel
def _oldest_expired(view, plane):
    """Return the block opened first of the first group that has an expired one; -1 if none has."""
    memory, clock = view.memory[0], view.control[0].clock
    best, best_group = -1, memory.top
    for block in blocks_of(view, plane):
        if not eligible(view, block):
            continue
        group, opened_at = group_of(view, block), view.block_memory[block].opened_at
        if group > best_group or group >= memory.top or clock - opened_at <= memory.life[group]:
            continue
        if best < 0 or group < best_group or opened_at < view.block_memory[best].opened_at:
            best, best_group = block, group
    return best


@kernel
def _best_of(view, plane, all_groups, parameters):
    """Return the block that the inner rule chooses, of the coldest and the frozen group or of all; or -1."""
    top = view.memory[0].top
    best, best_score = -1, -1.0
    for block in blocks_of(view, plane):
        if not eligible(view, block) or not (all_groups or group_of(view, block) >= top):
            continue
        if parameters.greedy != 0.0:
            score = float(view.block[block].invalid)
        else:
            score = benefit_of(view, block, parameters.exponent, parameters.since_close)
        if score > best_score:
            best, best_score = block, score
    return best


@victim_policy(
    "expired",
    source="DOGI, FAST 2026, with cost-benefit as in its prototype",
    parameters={"greedy": 0, "exponent": 0.5, "since_close": 1},
    minimum={"exponent": 0},
    shares_memory_with="dogi",
)
def expired(view, plane, parameters, choice):
    """Choose the block opened first of the hottest group with an expired block, however much of it is valid.

    A block of the hot group is expired `mu` host pages after it was opened, one of another group but the
    coldest after the largest interval of the group's categories. If no block is, choose within the coldest
    and the frozen group: by `cost_benefit` with `exponent` and `since_close`, or the block with most invalid
    pages if `greedy` is not 0; of equals, the lowest number. As long as groups are not of categories, do so
    among all blocks. If there is no block to choose, choose the one with most invalid pages of all.
    """
    if view.memory[0].configured == 0:
        return choose_block(view, choice, _best_of(view, plane, True, parameters))
    block = _oldest_expired(view, plane)
    if block < 0:
        block = _best_of(view, plane, False, parameters)
    if block < 0:
        block = most_invalid_block(view, plane)
    return choose_block(view, choice, block)
