"""What would end the process, or never end, is an error in rules of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.compiler import checking
from ssdgym.envs import EraseVictimEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import (
    blocks_of,
    choose_block,
    eligible,
    get_policy,
    kernel,
    legal_set,
    most_invalid_block,
    placement_policy,
    random_eligible,
    siblings_of,
    victim_policy,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences, random_writes

# What follows is compiled and has no types.
# mypy: disable-error-code="no-untyped-def"


def refused(name: str, **options: Any) -> str:
    """Return the sentence with which a policy fails, and check that the device does not go on after it."""
    sim = Simulator(device(), policy=name, **options)
    with pytest.raises(SsdgymError) as caught:
        sim.run(random_writes(3000, sim.logical_pages))
    return str(caught.value)


def reads_far(view, plane, parameters, choice):
    return view.block[10_000_000].invalid


def asks_eligible(view, plane, parameters, choice):
    return 1 if eligible(view, 10_000_000) else 0


def asks_index(view, plane, parameters, choice):
    return choose_block(view, choice, most_invalid_block(view, plane + 10_000_000))


def draws(view, plane, parameters, choice):
    return choose_block(view, choice, random_eligible(view, 10_000_000, 0, 0))


def writes_pair(view, plane, parameters, choice):
    choice[1_000_000].block = 1
    return 1


def counts_pairs(view, plane, parameters, choice):
    return 1 if legal_set(view, plane, choice[1:1], 8) else 10_000_000


def reads_column(view, plane, parameters, choice):
    return view.block.invalid[-10_000_000]


def reads_parameter(view, plane, parameters, choice):
    return int(parameters[plane + 1_000_000_000])


def reads_memory(view, plane, parameters, choice):
    return view.block_memory[plane + 10_000_000].seen


@kernel
def far_in_kernel(view, block):
    return view.block[block + 10_000_000].invalid


def calls_kernel(view, plane, parameters, choice):
    return far_in_kernel(view, plane)


def raises(view, plane, parameters, choice):
    if plane >= 0:
        raise ValueError("no luck")
    return 0


OUT_OF_RANGE = (
    (reads_far, "IndexError"),
    (asks_eligible, "IndexError"),
    (asks_index, "IndexError"),
    (draws, "IndexError"),
    (writes_pair, "IndexError"),
    (reads_column, "IndexError"),
    (reads_parameter, "IndexError"),
    (reads_memory, "IndexError"),
    (calls_kernel, "IndexError"),
    (raises, "ValueError, no luck (test_checked.py, line"),
)


@pytest.mark.parametrize(("rule", "said"), OUT_OF_RANGE, ids=lambda value: getattr(value, "__name__", ""))
def test_rule_that_reads_or_writes_out_of_range__is_an_error_that_names_it(
    rule: Callable[..., int], said: str
) -> None:
    victim_policy(rule.__name__, source="a test", block=[("seen", "i4")])(rule)
    text = refused(rule.__name__)
    assert text.startswith(f"policy {rule.__name__} failed: ")
    assert said in text
    remedy = "; correct it; registered with compiled=False it fails with index and line."
    assert text.endswith(remedy if said == "IndexError" else "; correct it.")


def test_rule_with_too_many_pairs__is_refused() -> None:
    victim_policy("many", source="a test")(counts_pairs)
    assert "cannot erase these blocks together" in refused("many")


def test_rule_of_a_block_that_is_none__is_named_with_the_block() -> None:
    def far(view, plane, parameters, choice):
        return choose_block(view, choice, 12345)

    victim_policy("far", source="a test")(far)
    assert refused("far").endswith("; policy far chose block 12345 with the sub-blocks 0x1.")


def test_loop_without_end__is_an_error() -> None:
    @kernel
    def spin(k):
        while k >= 0:
            k = (k + 1) % 7
        return k

    def endless(view, plane, parameters, choice):
        k = plane
        while k >= 0:
            k = (k + 1) % 7
        return k

    def endless_inside(view, plane, parameters, choice):
        return spin(plane)

    for rule in (endless, endless_inside):
        victim_policy(rule.__name__, source="a test")(rule)
        assert refused(rule.__name__).startswith(
            f"policy {rule.__name__} does not end: its loops go round more"
        )
    assert checking.MOST_ROUNDS >= 10**8


def writes_block(view, plane, parameters, choice):
    view.block[0].invalid = 3
    return 0


def writes_column(view, plane, parameters, choice):
    view.block.invalid[0] = 3
    return 0


def unknown_name(view, plane, parameters, choice):
    return there_is_none  # type: ignore[name-defined]  # noqa: F821


def unknown_field(view, plane, parameters, choice):
    return view.block[plane].validpages


def unknown_array(view, plane, parameters, choice):
    return view.blocks[plane].invalid


def unknown_parameter(view, plane, parameters, choice):
    return int(parameters.exponent)


def returns_nothing(view, plane, parameters, choice):
    choose_block(view, choice, 1)


def returns_a_fraction(view, plane, parameters, choice):
    return 1.5


def raises_a_text(view, plane, parameters, choice):
    raise ValueError(f"bad {plane}")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (writes_block, "a rule may not change the device, here its field invalid (test_checked.py, line"),
        (writes_column, "a rule may not change the device (test_checked.py, line"),
        (unknown_name, "NameError: name 'there_is_none' is not defined"),
        (unknown_field, "there is no field validpages; there are invalidated_at"),
        (unknown_array, "the view has no field blocks (test_checked.py, line"),
        (unknown_parameter, "it declares no parameter exponent"),
        (returns_nothing, "it returns none and must return a whole number"),
        (returns_a_fraction, "it returns a number with a fraction and must return a whole one"),
        (raises_a_text, "policy raises_a_text cannot be compiled: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_rule_that_cannot_be_compiled__says_why(rule: Callable[..., int], reason: str) -> None:
    victim_policy(rule.__name__, source="a test")(rule)
    text = refused(rule.__name__)
    assert text.startswith(f"policy {rule.__name__} cannot be compiled: ")
    assert reason in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (reads_far, "index 10000000 is out of bounds"),
        (asks_eligible, "IndexError"),
        (writes_block, "ValueError, assignment destination is read-only"),
        (unknown_field, "AttributeError"),
        (returns_a_fraction, "returned 1.5 and must return the number of pairs that it chose, 0 to 8."),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_rule_in_plain_python__fails_with_a_sentence(rule: Callable[..., int], said: str) -> None:
    victim_policy(rule.__name__, source="a test", compiled=False)(rule)
    text = refused(rule.__name__)
    assert text.startswith(f"policy {rule.__name__} ")
    assert said in text


def put_far(view, plane, lpn, source, parameters):
    return view.page_memory[lpn + 10_000_000].writes


def put_well(view, plane, lpn, source, parameters):
    return 0


def register_placement(name: str, rule: Callable[..., int], shift: int = 0) -> None:
    """Register a placement of one stream whose hook writes `shift` pages beside the one that is written."""
    registered = placement_policy(
        name, source="a test", streams=1, relocation_streams=1, page=[("writes", "i4")]
    )(rule)

    @registered.on("written")
    def written(view, plane, lpn, old_page, page, parameters):
        view.page_memory[lpn + shift].writes += 1


@pytest.mark.parametrize(("rule", "shift"), [(put_far, 0), (put_well, 10_000_000)])
def test_placement_and_hook_out_of_range__are_errors__and_the_device_stops(
    rule: Callable[..., int], shift: int
) -> None:
    register_placement("placed", rule, shift)
    sim = Simulator(device({"blocks_per_plane": 64}), policy="greedy+placed")
    saved = sim.snapshot()
    for _ in range(2):
        with pytest.raises(SsdgymError, match="policy placed failed: IndexError"):
            sim.run(random_writes(100, sim.logical_pages))
        with pytest.raises(
            SsdgymError, match="stands where its policy failed; restore an earlier snapshot, or make"
        ):
            sim.advance()
        with pytest.raises(SsdgymError, match="stands where its policy failed; restore an earlier snapshot"):
            sim.snapshot()
        sim.restore(saved)


def test_environment__whose_proposer_or_placement_fails__says_so() -> None:
    victim_policy("reads_far", source="a test")(reads_far)
    env = EraseVictimEnv(device=device(), proposers=["greedy", "reads_far"], workload="zipf99", horizon=1000)
    with pytest.raises(SsdgymError, match="policy reads_far failed: IndexError"):
        env.reset(seed=1)
    register_placement("placed", put_well, 10_000_000)
    env = EraseVictimEnv(
        device=device({"blocks_per_plane": 64}), ftl={"placement": "placed"}, workload="zipf99", horizon=1000
    )
    with pytest.raises(SsdgymError, match="policy placed failed: IndexError"):
        env.reset(seed=1)


def cheapest(view, plane, parameters, choice):
    best, most = -1, -1.0
    for block in blocks_of(view, plane):
        if eligible(view, block) and view.block[block].invalid * parameters.weight > most:
            best, most = block, view.block[block].invalid * parameters.weight
    return choose_block(view, choice, best)


def test_checks__change_no_decision__and_are_left_out_where_trusted() -> None:
    for name, trusted in (("checked", False), ("trusted", True)):
        victim_policy(name, source="a test", parameters={"weight": 1.5}, trusted=trusted)(cheapest)
    assert get_policy("checked").victim.checked
    assert not get_policy("trusted").victim.checked
    sims = [Simulator(device(), policy=name) for name in ("checked", "trusted")]
    for sim in sims:
        sim.run(random_writes(4000, sim.logical_pages))
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


def test_own_rules__are_checked_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not get_policy("greedy").victim.checked
    sims = [Simulator(device(), policy="greedy") for _ in range(2)]
    for sim, checked in zip(sims, "01", strict=True):
        monkeypatch.setenv("SSDGYM_CHECKED", checked)
        assert get_policy("greedy").victim.checked is (checked == "1")
        sim.run(random_writes(4000, sim.logical_pages))
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


def reads_backwards(view, plane, parameters, choice):
    return choose_block(view, choice, np.int64(view.block[plane - plane - 1].previous_age))


def test_own_rule__index_of_minus_one__found_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    # A rule of ssdgym is cached, and what is cached is read with its module.
    monkeypatch.setitem(sys.modules, "ssdgym.a_test", ModuleType("ssdgym.a_test"))
    monkeypatch.setattr(reads_backwards, "__module__", "ssdgym.a_test")
    victim_policy("reads_backwards", source="a test")(reads_backwards)
    monkeypatch.setenv("SSDGYM_CHECKED", "1")
    sim = Simulator(device(), policy="reads_backwards")
    with pytest.raises(IndexError):
        sim.run(random_writes(3000, sim.logical_pages))


def test_helpers_called_from_python__check_their_indices() -> None:
    def asks(view, plane, parameters, choice):
        for helper in (eligible, most_invalid_block):
            with pytest.raises(IndexError):
                helper(view, 10_000_000)
        assert list(siblings_of(view, plane)) == []
        return choose_block(view, choice, most_invalid_block(view, plane))

    victim_policy("asks", source="a test", compiled=False)(asks)
    sim = Simulator(device({"channels": 1}), policy="asks")
    assert sim.run(random_writes(1000, sim.logical_pages))["erases"] > 0


@pytest.mark.parametrize("name", ["greedy", "sepbit", "speedupgc"])
def test_name_of_a_policy_of_ssdgym__is_refused_at_once(name: str) -> None:
    with pytest.raises(SsdgymError, match=rf"policy {name} (is registered already|stands for)"):
        victim_policy(name, source="a test")(cheapest)
    assert np.isfinite(get_policy("greedy").victim.vector).all()
