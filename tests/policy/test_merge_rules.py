"""Merge rules: policies of devices of mapping block, alone and nowhere else."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numba import types

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.engine.core.handle import pointer_to
from ssdgym.engine.core.kernel import entry, function_at
from ssdgym.engine.core.records import CASE, MAX_PLANS, PLAN
from ssdgym.engine.core.status import MERGE_DECISION
from ssdgym.engine.decisions import MERGE, MERGE_SHAPE
from ssdgym.errors import SsdgymError
from ssdgym.policy import (
    available_policies,
    available_rules,
    device_for,
    get_policy,
    merge_policy,
    policy_alias,
    policy_for,
    rules_for,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import differences, same_as
from tests.policy.test_refusals import refusal

# What follows is compiled and has no types.
# mypy: disable-error-code="no-untyped-def"


def merging() -> DeviceConfig:
    return load_device("pen-tiny")


_rule_at = function_at(types.FunctionType(MERGE_SHAPE))


@entry
def call(address, plans, case, parameters):
    """Call a rule as the engine does."""
    return _rule_at(address)(plans, case, pointer_to(parameters, 0))


def figures(*costs: int) -> tuple[np.ndarray, np.ndarray]:
    plans, case = np.zeros(MAX_PLANS, PLAN), np.zeros(1, CASE)
    plans["cost_ns"][: len(costs)], plans["allowed"] = costs, 1
    case["candidates"], case["levels"] = len(costs), len(costs) - 3
    return plans, case


# -- names ---------------------------------------------------------------------------------------------------


def test_get__a_merge_rule__is_a_policy_of_its_own() -> None:
    policy = get_policy("mmerge_fixed(depth=2)")
    assert policy.main.kind == "merge"
    assert (policy.name, policy.label, policy.parts) == (
        "mmerge_fixed",
        "mmerge_fixed(depth=2)",
        (policy.main,),
    )
    for copied in (get_policy(policy.label), pickle.loads(pickle.dumps(policy))):
        assert copied == policy
    assert policy.source_digest() != get_policy("greedy").source_digest()
    assert "mmerge" in available_rules("merge")
    assert "mmerge" not in available_policies(), "those choose victims"


def test_alias__of_a_merge_rule__runs_it() -> None:
    policy_alias("halves", "mmerge_fixed(depth=1)", source="a test")
    assert get_policy("halves").main == get_policy("mmerge_fixed(depth=1)").main
    assert get_policy("halves").label == "halves"


def test_policy__without_a_victim_rule__says_so() -> None:
    policy = get_policy("mmerge")
    assert "policy mmerge is a merge rule, and a victim rule is needed here" in refusal(lambda: policy.victim)
    for part, called, rule in (("placement", "placement", "sep_gc"), ("idle", "idle rule", "blocking")):
        assert f"stands alone; leave the {called} {rule} out" in refusal(
            policy.with_rule, available_rules(part)[rule]
        )


# -- devices -------------------------------------------------------------------------------------------------


def test_adapt__takes_a_device_that_asks_for_merges_as_it_is() -> None:
    assert get_policy("mmerge").adapt(merging()) == merging()


def test_adapt__a_device_that_asks_for_something_else__refused() -> None:
    assert refusal(get_policy("mmerge").adapt, load_device("tiny")) == (
        "policy mmerge is a merge rule, and device tiny of ftl.mapping page has none; name a victim rule, "
        "such as greedy."
    )
    assert refusal(get_policy("greedy").adapt, merging()) == (
        "policy greedy is a victim rule, and device pen-tiny of ftl.mapping block has none; name a merge "
        "rule, such as merge."
    )


def test_usual_policy__is_that_of_the_mapping() -> None:
    assert get_policy("greedy") == policy_for("default", "tiny")
    assert get_policy("merge") == policy_for("default", merging())
    assert get_policy("merge") == policy_for("default", "tiny", BlockFtl())
    assert get_policy("greedy") == policy_for("default", "tiny", {"placement": "single"})
    assert get_policy("greedy") == policy_for("default", "tiny", {"mapping": "subpage"})
    chosen = policy_for("default", merging())
    assert chosen is not None and chosen.name == "merge"
    assert policy_for(None, merging()) is None
    assert device_for("pen-tiny", policy="default") == merging()
    assert "stands for the policy of a device" in refusal(merge_policy("default", source="a test"), cheap)


# -- rules of others -----------------------------------------------------------------------------------------


def cheap(plans, case, parameters):
    """The cheapest candidate below a bound."""
    best = 0
    for number in range(case[0].candidates):
        if plans[number].cost_ns < plans[best].cost_ns and plans[number].cost_ns >= parameters.floor:
            best = number
    return best


@pytest.mark.parametrize("trusted", [False, True])
def test_merge_policy__compiled__chooses_as_in_python(trusted: bool) -> None:
    merge_policy("cheap", source="a test", parameters={"floor": 0}, trusted=trusted)(cheap)
    policy = get_policy("cheap(floor=40)")
    assert policy.main.checked is not trusted
    record = rules_for(merging(), policy)[MERGE]
    for costs in ([70, 60, 50, 30], [10, 20, 30, 40], [90, 70, 80, 60]):
        plans, case = figures(*costs)
        expected = cheap(plans.view(np.recarray), case.view(np.recarray), policy.main.values)
        assert call(int(record["choose"]), plans, case, record["parameters"].copy()) == expected


def writes(plans, case, parameters):
    plans[0].cost_ns = 0
    return 0


def reads_far(plans, case, parameters):
    return plans[1000 + case[0].candidates].allowed


def test_merge_policy__that_writes_to_the_figures__cannot_be_compiled() -> None:
    merge_policy("writes", source="a test")(writes)
    assert "a rule may not change the device" in refusal(lambda: get_policy("writes").main.address)


def test_merge_policy__that_reads_out_of_range__is_an_error() -> None:
    merge_policy("reads_far", source="a test")(reads_far)
    with pytest.raises(IndexError):
        call(get_policy("reads_far").main.address, *figures(1, 2, 3), np.zeros(1))


def test_merge_policy__in_plain_python__has_its_arguments_checked() -> None:
    merge_policy("plain", source="a test", compiled=False, parameters={"floor": 0})(cheap)
    assert rules_for(merging(), get_policy("plain"))[MERGE]["choose"] == 0
    expected = "policy few must take the 3 arguments (plans, case, parameters)."
    assert refusal(merge_policy("few", source="a test", compiled=False), lambda plans: 0) == expected


def test_merge_policy__takes_no_hooks() -> None:
    rule = merge_policy("cheap", source="a test", parameters={"floor": 0})(cheap)
    assert "policy cheap is a merge rule and can have no hook of written; leave it out." in refusal(
        rule.on, "written"
    )


# -- running -------------------------------------------------------------------------------------------------


def played(policy: str | None = "default", timing: str = "none", **options: Any) -> Simulator:
    sim = Simulator("pen-tiny", ftl={"timing": timing}, policy=policy, **options)
    sim.fill()
    sim.run("uniform", host_pages=2_000, seed=1)
    return sim


def test_simulator__without_a_policy_named__merges() -> None:
    sim = played()
    assert sim.policy == get_policy("merge")
    assert sim.metrics()["merges"] > 0 == sim.metrics()["m_merges"]
    assert Simulator("tiny").policy == get_policy("greedy")


def test_simulator__is_preconditioned_under_merge() -> None:
    under_merge, under_mmerge = Simulator("pen-tiny", policy="merge"), Simulator("pen-tiny", policy="mmerge")
    for sim in (under_merge, under_mmerge):
        sim.precondition("uniform", cache=False)
    assert same_as(under_merge, under_mmerge)


def planned(plans, case, parameters):
    last = case[0].candidates - 1
    return last if plans[last].allowed and plans[last].cost_ns < plans[0].cost_ns else 0


@pytest.mark.parametrize("timing", ["none", "event"])
def test_simulator__a_rule_in_plain_python__does_as_the_compiled_one(timing: str) -> None:
    merge_policy("plain", source="a test", compiled=False)(planned)
    compiled, plain = played("mmerge", timing), played("plain", timing)
    asked = ["control.decision_kind", "control.decision_subject"]  # noted of what is decided outside
    assert differences(compiled.state, 0, plain.state, 0) == asked
    assert compiled.metrics()["m_merges"] > 0
    assert compiled.metrics()["merges"] < played("merge", timing).metrics()["merges"]


@pytest.mark.parametrize("compiled", [False, True])
def test_simulator__a_candidate_that_there_is_not__refused(compiled: bool) -> None:
    merge_policy("far", source="a test", compiled=compiled)(lambda plans, case, parameters: 99)
    assert refusal(played, "far") == (
        "device pen-tiny cannot merge by the candidate of far, which does not exist or is not allowed; a "
        "merge is chosen by the number of one that is, without a mask."
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_simulator__a_rule_that_fails__is_named_with_its_line_in_plain_python(compiled: bool) -> None:
    merge_policy("reads_far", source="a test", compiled=compiled)(reads_far)
    said = refusal(played, "reads_far")
    assert said.startswith("policy reads_far failed: IndexError, ")
    assert ("test_merge_rules.py, line" in said) is not compiled
    assert said.endswith("registered with compiled=False it fails with index and line.") is compiled


def test_simulator__without_a_policy__its_caller_decides() -> None:
    sim = Simulator("pen-tiny", ftl={"timing": "none"}, policy=None)
    sim.fill()
    with pytest.raises(SsdgymError, match="a simulator without a policy stops at decisions"):
        sim.run("uniform", host_pages=2_000, seed=1)
    assert sim.advance() == MERGE_DECISION
    for nothing in (99, [(0, 1)]):
        assert "cannot merge by the candidate" in refusal(sim.apply, nothing)
    sim.apply(0)
    assert sim.advance() == MERGE_DECISION
    assert sim.metrics()["merges"] == 1
