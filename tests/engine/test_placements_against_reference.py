"""The compiled engine and the naive reference agree under placements that are rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.requests import TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.comparing import QUICK, agrees, explore, run_both, with_examples
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import (
    NEEDS,
    POLICIES,
    RECORDING,
    RULE_PARAMETERS,
    SET_POLICIES,
    assert_same,
    device_config,
    request_array,
)
from tests.reference import Reference, ReferenceConfig
from tests.reference.config import RULES
from tests.reference.page.policies import Policy, future_benefit, rate_benefit
from tests.reference.placements.lives import Oracle


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", RULE_PARAMETERS)
@with_examples()
def test_engine__placement_rules__agrees_with_the_reference(
    placement: str, timing: str, examples: int
) -> None:
    def check(data: st.DataObject) -> None:
        policy = data.draw(st.sampled_from(["greedy", "cost_benefit", "parallel_gc"]))
        agrees(policy, data, placement=placement, timing=timing, **NEEDS.get(policy, {}))

    explore(examples, check)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", RULE_PARAMETERS)
def test_engine__placement_rules_for_thousands_of_writes__agrees_with_the_reference(
    placement: str, timing: str
) -> None:
    """Long enough for what they learn to matter: every stream is used."""
    config = ReferenceConfig(
        planes_per_die=2,
        blocks_per_plane=12 + sum(RULES[placement]),
        logical_pages=80,
        placement=placement,
        parameters=RULE_PARAMETERS[placement],
        threshold_blocks=1 + RULES[placement][1],  # so that relocated pages seldom share open blocks
        timing=timing,
        read_ns=1,
        program_ns=3,
        erase_ns=10,
    )
    rng = np.random.default_rng(1)
    pages = np.minimum(rng.zipf(1.2, 4000) - 1, rng.integers(0, 78, 4000))
    requests = [
        (8 * k, int(lpn), 1 + (k % 7 == 0), TRIM if k % 50 == 49 else WRITE, 0, k % 8)
        for k, lpn in enumerate(pages)
    ]
    sim, reference = run_both(config, "cost_benefit", requests, [], None)
    assert_same(sim, reference)
    used = 4 if placement == "fadac" else config.streams  # its later ones take 10,000 writes of a page
    if placement not in ("midas", "td_lifetime"):  # which use as many as their models say
        assert set(sim.state.block["stream"][0]) == set(range(used))


@pytest.mark.parametrize(
    ("placement", "policy", "victims"),
    [
        ("oracle_k", "cost_benefit", POLICIES["cost_benefit"]),
        ("oracle_k", "future_benefit", future_benefit),
        ("oracle_rate", "rate_benefit", rate_benefit),
    ],
)
@given(data=st.data())
@QUICK
def test_engine__oracles__agrees_with_the_reference(
    placement: str, policy: str, victims: Policy, data: st.DataObject
) -> None:
    config = data.draw(configs(placement=placement, timing="none"))
    requests = data.draw(request_lists(config.logical_pages, 300))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=RECORDING)
    sim.run(request_array(requests))
    reference = Reference(config, victims)
    rule = reference.device.rule
    assert isinstance(rule, Oracle)
    rule.foresee(requests)
    reference.run(requests)
    assert_same(sim, reference)


@pytest.mark.parametrize("policy", SET_POLICIES)
@given(data=st.data())
@QUICK
def test_engine__placement_rules_on_sub_blocks__agrees_with_the_reference(
    policy: str, data: st.DataObject
) -> None:
    placement = data.draw(st.sampled_from(sorted(RULE_PARAMETERS)))
    agrees(policy, data, erase_unit=SET_POLICIES[policy][0], placement=placement)
