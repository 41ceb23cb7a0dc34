"""Policies: registered by a decorator or an entry point, found by name, given parameters in brackets."""

from __future__ import annotations

import importlib.metadata
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.decisions import MAX_PARAMETERS
from ssdgym.errors import SsdgymError
from ssdgym.policy import (
    Rule,
    available_policies,
    blocks_of,
    choose_block,
    eligible,
    get_policy,
    registry,
    victim_policy,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import differences, full_device, random_writes

BUNDLED = [
    "chain",
    "cost_benefit",
    "d_choices",
    "fifo",
    "future_benefit",
    "greedy",
    "gsm",
    "ippbe",
    "parallel_gc",
    "pb",
    "random",
    "rate_benefit",
    "windowed_greedy",
]
NAMED = [
    "baseline",
    "gsm_plus",
    "ippbe_multiplane",
    "ippbe_multiplane_strict",
    "ippbe_subblock",
    "ippbe_subblock_multiplane",
    "midas",
    "speedupgc",
    "speedupgc_pb",
]


def test_bundled__all_with_source_and_documentation() -> None:
    policies = available_policies().values()
    # Other tests of this process may have registered policies of their own.
    bundled = [
        policy for policy in policies if policy.victim.function.__module__.startswith("ssdgym.baselines.")
    ]
    assert [policy.name for policy in bundled] == sorted(BUNDLED + NAMED)
    for policy in bundled:
        assert policy.victim.compiled
        assert policy.source
        assert policy.victim.function.__doc__


@pytest.mark.parametrize(
    ("spec", "name", "parameters"),
    [
        ("greedy", "greedy", {}),
        (" greedy ( ) ", "greedy", {}),
        ("d_choices", "d_choices", {"d": 10}),
        ("d_choices(d=5)", "d_choices", {"d": 5}),
        (
            "cost_benefit( since_close = 1 , exponent = 0.5 )",
            "cost_benefit",
            {"exponent": 0.5, "since_close": 1},
        ),
        ("cost_benefit(exponent=1e-3)", "cost_benefit", {"exponent": 0.001, "since_close": 0}),
    ],
)
def test_get__name_and_parameters(spec: str, name: str, parameters: dict[str, float]) -> None:
    policy = get_policy(spec)
    assert (policy.name, dict(policy.main.parameters)) == (name, parameters)
    padding = [0.0] * (MAX_PARAMETERS - len(parameters))
    assert policy.victim.vector.tolist() == [*parameters.values(), *padding]


def test_get__a_policy__is_itself() -> None:
    policy = get_policy("greedy")
    assert get_policy(policy) is policy


@pytest.mark.parametrize(
    "spec",
    [
        "greedy",
        "d_choices(d=7)",
        "cost_benefit(exponent=0.1234567890123, since_close=1)",
        "cost_benefit(exponent=1e-05)",
    ],
)
def test_label_and_pickle__give_the_same_policy(spec: str) -> None:
    policy = get_policy(spec)
    for copied in (get_policy(policy.label), pickle.loads(pickle.dumps(policy))):
        assert copied == policy
        np.testing.assert_array_equal(copied.victim.vector, policy.victim.vector)


def test_label__reads_as_it_is_written() -> None:
    assert get_policy("cost_benefit").label == "cost_benefit(exponent=1, since_close=0)"
    assert get_policy("cost_benefit(exponent=0.50)").label == "cost_benefit(exponent=0.5, since_close=0)"
    assert get_policy("greedy").label == "greedy"


# -- policies of others --------------------------------------------------------------------------------------


def last_block(view, plane, parameters, choice):
    """The eligible block with the highest number, from ``skip`` down."""
    best = -1
    for block in blocks_of(view, plane):
        if eligible(view, block) and block >= parameters.skip:
            best = block
    return choose_block(view, choice, best)


@pytest.mark.parametrize("timing", ["none", "event"])
def test_decorator__compiled_and_plain__the_same_victims(timing: str) -> None:
    victim_policy("last_block", source="a test", parameters={"skip": 0})(last_block)
    victim_policy("last_block_plain", source="a test", compiled=False, parameters={"skip": 0})(last_block)
    assert {"last_block", "last_block_plain"} <= set(available_policies())
    sims = []
    for name in ("last_block", "last_block_plain"):
        sim = Simulator(full_device(ftl={"timing": timing}), policy=name)
        assert sim.run(random_writes(1000, sim.logical_pages))["gc_invocations"] > 50
        sims.append(sim)
    assert differences(sims[0].state, 0, sims[1].state, 0) == []
    greedy = Simulator(full_device(ftl={"timing": timing}), policy="greedy")
    greedy.run(random_writes(1000, greedy.logical_pages))
    assert differences(greedy.state, 0, sims[0].state, 0) != []


def test_decorator__returns_the_function_unchanged() -> None:
    assert victim_policy("mine", source="a test")(last_block) is last_block


def test_plain_python_policy__has_no_compiled_code() -> None:
    with pytest.raises(
        SsdgymError, match="policy plain is plain Python, which cannot run inside the engine; leave"
    ):
        _ = Rule("victim", "plain", last_block, "a test", compiled=False).address


def elsewhere(view, plane, parameters, choice):
    return 0


elsewhere.__module__ = "os"


@pytest.mark.parametrize(
    ("arguments", "function", "expected"),
    [
        ({"name": "two words"}, last_block, "policy name 'two words' must start with a letter"),
        ({"name": "9lives"}, last_block, "policy name '9lives' must start with a letter"),
        ({"name": "greedy"}, elsewhere, "policy greedy is registered already by"),
        (
            {"name": "m", "parameters": {f"p{k}": 0 for k in range(65)}},
            last_block,
            "declares 65 parameters; at most 64",
        ),
        ({"name": "sep_gc"}, last_block, "policy sep_gc is registered already by the engine; choose another"),
        ({"name": "few", "compiled": False}, lambda view, plane: 0, "must take the 4 arguments"),
    ],
    ids=["a space", "a digit first", "taken", "too many parameters", "a placement's", "too few arguments"],
)
def test_decorator__what_cannot_be_registered__refused(
    arguments: dict[str, Any], function: Any, expected: str
) -> None:
    with pytest.raises(SsdgymError) as caught:
        victim_policy(**arguments, source="a test")(function)
    assert expected in str(caught.value)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package whose module ``ssd_plugin`` registers a policy when it is imported."""
    (tmp_path / "ssd_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ssd_plugin", raising=False)
    entry = importlib.metadata.EntryPoint("ours", "ssd_plugin", "ssdgym.policies")
    monkeypatch.setattr(registry, "plugins_of", lambda group: [entry] if group == entry.group else [])


PLUGIN = """
from ssdgym.policy import blocks_of, eligible, victim_policy, choose_block


@victim_policy("lowest", source="a plug-in", parameters={"from_block": 0})
def lowest(view, plane, parameters, choice):
    for block in blocks_of(view, plane):
        if eligible(view, block) and block >= parameters.from_block:
            return choose_block(view, choice, block)
    return 0
"""


def test_entry_point__is_found_by_name_and_listed(plugin: None) -> None:
    assert get_policy("lowest(from_block=2)").main.parameters == {"from_block": 2}
    assert "lowest" in available_policies()
    sim = Simulator(full_device(), policy="lowest")
    assert sim.run(random_writes(600, sim.logical_pages))["gc_invocations"] > 0


def test_victim_policy__of_no_way_to_erase__says_which_there_are() -> None:
    with pytest.raises(
        SsdgymError, match="erase_unit must be one of block, sub_block_run, sub_block_set, not"
    ):
        victim_policy("halves", source="a test", erase_unit="half")(lambda view, plane, parameters, choice: 0)


def test_values__of_two_lookups__of_one_class() -> None:
    """Kernels that a plain-Python rule calls would be compiled anew for every other class."""
    first, second = (get_policy(f"ippbe(limit={limit})").victim.values for limit in (2, 3))
    assert type(first) is type(second)
    assert (first.limit, second.limit) == (2, 3)
