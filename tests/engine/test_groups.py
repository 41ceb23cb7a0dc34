"""Block groups: after every single update the groups are small enough, in order, and know where to write."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.baselines.placements.block_groups import first_of
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import helper
from ssdgym.engine.core.records import INDEXED, POOLED
from ssdgym.engine.view import PolicyView
from ssdgym.policy import Rule, device_for
from ssdgym.policy.registry import registered
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import Recording, make_state
from tests.engine.audit import NO_FAULT, Device
from tests.engine.audit_tables import GROUPS, UNSORTED, group_faults, writable_view
from tests.engine.devices import device
from tests.reference.page.speedupgc import BlockGroups

PER_SUB_BLOCK = 3


RULE = registered("hotness_groups")
assert isinstance(RULE, Rule)
_attached, _recycled, _collected = (
    helper(RULE.hooks[name]) for name in ("attached", "recycled", "collected")
)
#: Hooks take parameters, of which this rule has none.
NO_PARAMETERS = 0


def view_of(state: State) -> PolicyView:
    return writable_view(state, RULE.memory)


def group_limit_of(blocks: int, groups: int) -> int:
    """m of SpeedupGC, section III-B."""
    return blocks // (groups - 1) - 1


def grouped(blocks: int, groups: int, isolation: str) -> State:
    """One empty plane of blocks of four sub-blocks of three pages."""
    hardware = isolation == "hardware"
    config = device(
        {
            "channels": 1,
            "blocks_per_plane": blocks,
            "sub_blocks_per_block": 4,
            "pages_per_block": 16 if hardware else 4 * PER_SUB_BLOCK,
            "layers_per_block": 16 if hardware else None,
        },
        {"placement": "hotness_groups", "hotness": {"thresholds": list(range(2, 2 + groups))}},
        erase_unit="sub_block_set" if hardware else "sub_block_run",
        isolation=isolation,
        logical_pages=1,
    )
    state = make_state([device_for(config)], [0], Recording(1, 1))
    _attached(view_of(state), 0, -1, NO_PARAMETERS)
    assert view_of(state).memory[0]["limit"] == group_limit_of(blocks, groups)
    return state


def change(state: State, block: int, pages: list[tuple[int, int]]) -> None:
    """Let the sub-blocks of a block have these (written, invalid) pages, and say so."""
    first = 4 * block
    for s, (written, invalid) in enumerate(pages):
        state.sub_block[0, first + s]["written"] = written
        state.sub_block[0, first + s]["invalid"] = invalid
    written = sum(w for w, _ in pages)
    record = state.block[0, block]
    record["written"], record["invalid"] = written, sum(i for _, i in pages)
    record["status"] = (INDEXED if written else 0) | (POOLED if written < 4 * PER_SUB_BLOCK else 0)
    _recycled(view_of(state), 0, block, NO_PARAMETERS)


def best_by_definition(state: State, block: int) -> tuple[Fraction, int]:
    """(rank, mask of the best set): all runs tried, or sub-blocks counted under hardware isolation
    (mask 0).
    """
    g = state.params[0, 0]
    subs = state.sub_block[0, 4 * block : 4 * block + 4]
    invalid = [int(x) for x in subs["invalid"]]
    valid = [int(x) for x in subs["written"] - subs["invalid"]]
    if g["isolation"] == 2:
        return Fraction(sum(x == PER_SUB_BLOCK for x in invalid)), 0
    best, mask = Fraction(0), 0
    for length in range(1, 5):
        for a in range(5 - length):
            b = a + length
            moves = sum(valid[max(a - 1, 0) : b + 1] if g["isolation"] else valid[a:b])
            cost = moves * int(g["copy_cost"]) + int(g["erase_cost"])
            if Fraction(sum(invalid[a:b]), cost) > best:
                best, mask = Fraction(sum(invalid[a:b]), cost), ((1 << length) - 1) << a
    return best, mask


def members(state: State) -> list[list[int]]:
    """Block numbers by group."""
    view = view_of(state)
    group = view.block_memory["group"]
    return [[int(b) for b in np.flatnonzero(group == i)] for i in range(int(view.memory[0]["groups"]))]


def fault_of(state: State) -> str:
    return next(group_faults(Device(state, 0), view_of(state), 0), NO_FAULT)


def check(state: State, blocks: int, groups: int) -> None:
    assert fault_of(state) == NO_FAULT  # of their order, too
    limit = group_limit_of(blocks, groups)
    ranks = [best_by_definition(state, b)[0] for b in range(blocks)]
    found = members(state)
    assert sorted(b for group in found for b in group) == list(range(blocks))
    assert all(len(group) <= limit for group in found)
    assert [len(group) for group in found] == view_of(state).table[:groups].tolist()
    filled = [group for group in found if group]
    for lower, upper in itertools.pairwise(filled):
        assert max(ranks[b] for b in lower) <= min(ranks[b] for b in upper)
    for number, group in enumerate(found):
        pooled = [b for b in group if state.block[0, b]["status"] & POOLED]
        assert first_of(view_of(state), 0, number, 0) == (min(pooled) if pooled else -1)
        in_best = [b for b in pooled if _writable_in_best(state, b)]
        assert first_of(view_of(state), 0, number, 1) == (min(in_best) if in_best else -1)


def _writable_in_best(state: State, block: int) -> bool:
    mask = int(view_of(state).block_memory[block]["mask"])
    written = state.sub_block[0, 4 * block : 4 * block + 4]["written"]
    return any(mask >> s & 1 and written[s] < PER_SUB_BLOCK for s in range(4))


PAGES = st.integers(0, PER_SUB_BLOCK).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, w)))
UPDATES = st.lists(st.tuples(st.integers(0, 10**6), st.lists(PAGES, min_size=4, max_size=4)), max_size=60)


@pytest.mark.parametrize("isolation", ["none", "software", "hardware"])
@settings(deadline=None, max_examples=60)
@given(st.sampled_from([(8, 3), (9, 2), (21, 4), (33, 5)]), UPDATES)
def test_groups__any_updates__as_the_reference_sorts_them_after_every_one(
    isolation: str, kind: tuple[int, int], updates: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    blocks, groups = kind
    state = grouped(blocks, groups, isolation)
    reference = BlockGroups(range(blocks), groups, group_limit_of(blocks, groups))
    check(state, blocks, groups)
    assert members(state) == [sorted(group) for group in reference.groups]
    for number, pages in updates:
        block = number % blocks
        change(state, block, pages)
        check(state, blocks, groups)
        reference.reclassify(block, *best_by_definition(state, block))
        assert members(state) == [sorted(group) for group in reference.groups]


@pytest.mark.parametrize(("groups_too", "fault"), [(False, UNSORTED), (True, GROUPS)])
def test_audit__a_block_in_another_place__is_found(groups_too: bool, fault: str) -> None:
    state = grouped(8, 3, "software")
    heaps = view_of(state).table[3:]  # of 4 words each
    other = 4 if groups_too else 1
    heaps[[0, other]] = heaps[[other, 0]]
    assert fault_of(state) == fault


def test_withdraw__a_victim__is_written_to_no_more_and_keeps_its_group() -> None:
    state = grouped(8, 3, "software")
    change(state, 2, [(1, 1), (3, 0), (3, 0), (3, 0)])
    view = view_of(state)
    group = int(view.block_memory[2]["group"])
    assert first_of(view, 0, group, 1) == 2
    _collected(view, 0, 2, NO_PARAMETERS)
    assert first_of(view, 0, group, 1) == -1
    assert int(view.block_memory[2]["group"]) == group


def test_tracker__attached_like_the_placement__keeps_its_groups() -> None:
    ftl = {"timing": "none", "trackers": ["hotness_groups"]}
    sim = Simulator("speedupgc-64l-small", ftl=ftl, policy="greedy+single")
    for pages in (1_000, 200_000):
        sim.run("uniform", host_pages=pages)
        assert fault_of(sim.state) == NO_FAULT
    assert sorted(itertools.chain(*members(sim.state))) == list(range(sim.state.block.shape[1]))
