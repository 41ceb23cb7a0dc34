"""Cells that wear out: the compiled engine and the naive reference live and end alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import explore, run_both, with_examples
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import ALLOCATIONS, LEVELLINGS, NEEDS, SET_POLICIES, assert_same
from tests.reference.page.audit import check

#: Policies, and what the device has for each, or one of what.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "greedy": ("greedy", {}),
    "random": ("random", {}),
    "greedy_dynamic": ("greedy", {"allocation": "dynamic"}),
    "cost_benefit_late": ("cost_benefit", {"allocation": "late"}),
    "gsm": ("gsm", {}),
    "pb": ("pb", {}),
    "hotness_groups": ("gsm", {"placement": "hotness_groups"}),
    "sepbit": ("greedy", {"placement": "sepbit"}),
    "parallel_gc": ("parallel_gc", {}),
    "ippbe": ("ippbe(limit=3,tau=0.75)", {"multi_plane": "relaxed", "erase_unit": "sub_block_set"}),
    "writes_join": ("greedy", {"timing": "event", "multi_plane": "strict", "multi_plane_writes": True}),
    "idle": ("fifo", {"timing": "event", "idle": "threshold"}),
    "levelling": (
        "greedy",
        {"levelling": tuple(LEVELLINGS), "block_allocation": (None, *ALLOCATIONS), "placement": "sep_gc"},
    ),
    "known_limits": ("cost_benefit", {"levelling": "known_limits", "placement": "sep_gc"}),
}


def agrees(policy: str, data: st.DataObject, **fixed: Any) -> None:
    fixed = {k: data.draw(st.sampled_from(v)) if isinstance(v, tuple) else v for k, v in fixed.items()}
    if policy in SET_POLICIES:
        fixed = {"erase_unit": SET_POLICIES[policy][0], **fixed}
    config = data.draw(configs(wears_out=True, **NEEDS.get(policy, {}), **fixed))
    requests = data.draw(request_lists(config.logical_pages, data.draw(st.sampled_from([300, 900]))))
    chunks = data.draw(st.lists(st.integers(0, len(requests)), max_size=2))
    horizon = data.draw(st.none() | st.integers(1, 200))
    sim, reference = run_both(config, policy, requests, chunks, horizon)
    assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    check(reference)


@pytest.mark.parametrize("case", CASES)
@with_examples(quick=8, thorough=500)
def test_engine__cells_wear_out__agrees_with_the_reference(case: str, examples: int) -> None:
    policy, fixed = CASES[case]
    explore(examples, lambda data: agrees(policy, data, **fixed))
