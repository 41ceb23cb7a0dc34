"""Reads that have errors: the compiled engine and the naive reference retry, refresh and give up alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from ssdgym.requests import WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.aging import error_rates
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import explore, with_examples
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import (
    NEEDS,
    POLICIES,
    RECORDING,
    SET_POLICIES,
    assert_same,
    device_config,
    run_in_pieces,
)
from tests.reference import Reference, ReferenceConfig
from tests.reference.config import BitErrors
from tests.reference.page.audit import check

#: Policies, and what the device has for each.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "greedy": ("greedy", {}),
    "random": ("random", {}),
    "in_time": ("greedy", {"timing": "event"}),
    "cost_benefit_late": ("cost_benefit", {"allocation": "late"}),
    "gsm": ("gsm", {}),
    "pb": ("pb", {}),
    "sepbit": ("greedy", {"placement": "sepbit"}),
    "parallel_gc": ("parallel_gc", {}),
    "reads_join": (
        "ippbe(limit=3,tau=0.75)",
        {"timing": "event", "multi_plane": "relaxed", "multi_plane_reads": True},
    ),
    "idle": ("fifo", {"timing": "event", "idle": "threshold"}),
    "after_writes": ("greedy", {"timing": "event", "gc_start": "queue_empty"}),
    "levelling": ("greedy", {"levelling": "dual_pool", "erase_unit": "block", "placement": "sep_gc"}),
    "wears_out": ("greedy", {"wears_out": True, "timing": "none"}),
    "wears_out_in_time": ("greedy", {"wears_out": True, "timing": "event"}),
}


def agrees(policy: str, data: st.DataObject, **fixed: Any) -> None:
    if policy in SET_POLICIES:
        fixed = {"erase_unit": SET_POLICIES[policy][0], **fixed}
    config = data.draw(configs(ages=True, **NEEDS.get(policy, {}), **fixed))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=RECORDING)
    reference = Reference(config, POLICIES[policy] if policy in POLICIES else SET_POLICIES[policy][1])
    mortal_in_time = config.endurance is not None and config.timing == "event"
    for _ in range(data.draw(st.integers(1, 3))):
        requests = data.draw(request_lists(config.logical_pages, data.draw(st.sampled_from([40, 200]))))
        requests = [(arrival + reference.loop.now, *rest) for arrival, *rest in requests]
        chunks = data.draw(st.lists(st.integers(0, len(requests)), max_size=2))
        # In time latencies go by the places of requests in all input, of which a horizon leaves some out.
        horizon = data.draw(st.none() | st.integers(1, 100)) if config.timing == "none" else None
        run_in_pieces(sim, reference, requests, chunks, horizon, lambda _, last: sim.advance(last=last))
        # In time a round that has been started there would be ended beforehand where blocks wear out.
        days = 0 if mortal_in_time else data.draw(st.sampled_from([0, 1, 2, 40]))
        if days:
            sim.pass_days(days)
            reference.pass_days(days)
        assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    check(reference)
    device = reference.device
    device.aging.now = reference.loop.now
    holding = [sub for sub in range(len(device.written)) if device.valid_in_sub_block(sub)]
    rates = [device.aging.rate(sub) for sub in holding]
    np.testing.assert_allclose(error_rates(sim.state, 0, sim.device), rates, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
@with_examples(quick=15, thorough=600)
def test_engine__reads_have_errors__agrees_with_the_reference(case: str, examples: int) -> None:
    policy, fixed = CASES[case]
    explore(examples, lambda data: agrees(policy, data, **fixed))


@pytest.mark.parametrize("seed", [3, 38])
def test_commands_of_an_idle_die__a_patrol_goes_on_with_their_round__are_not_used_up(seed: int) -> None:
    """A day passes in the round of an idle rule: the patrol takes it over, and the rule keeps its rest."""
    errors = BitErrors(
        base=1.5e-3,
        wear=(0.0, 1.0),
        retention=(2e-3, 0.2, 0.05),
        disturb=(0.0, 0.3, 1.5),
        time_unit="hour",
        limits=(2e-3,),
        refresh_above=8e-4,
    )
    config = ReferenceConfig(
        chips_per_channel=2,
        blocks_per_plane=11,
        pages_per_block=6,
        logical_pages=95,
        allocation="static",
        threshold_pages=6,
        timing="event",
        idle="rl_gc",
        idle_blocks=9,
        closed_loop=True,
        queue_depth=2,
        read_ns=1,
        program_ns=1,
        erase_ns=1,
        transfer_ns=0,
        seed=seed,
        bit_errors=errors,
    )
    sim = Simulator(device_config(config), policy="greedy", seed=seed, recording=RECORDING)
    reference = Reference(config, POLICIES["greedy"])
    rng = np.random.default_rng(seed)
    for _ in range(2):
        requests = [(reference.loop.now, lpn, 1, WRITE, 0) for lpn in rng.integers(0, 95, 100).tolist()]
        run_in_pieces(sim, reference, requests, [], None, lambda _, last: sim.advance(last=last))
        sim.pass_days(1)
        reference.pass_days(1)
    assert_same(sim, reference)
