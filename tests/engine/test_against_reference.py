"""The compiled engine and the naive reference agree on every page, counter and nanosecond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.kernel import helper
from ssdgym.engine.core.status import ERASE_DECISION, OK
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.page.state import PageDevice as Device
from ssdgym.policy import new_choice
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import QUICK, agrees, explore, with_examples
from tests.engine.drawing import configs, random_legal_set, request_lists
from tests.engine.oracle import (
    IPPBE,
    NEEDS,
    PLACEMENTS,
    POLICIES,
    RECORDING,
    SET_POLICIES,
    assert_same,
    device_config,
    request_array,
)
from tests.reference import Reference, ReferenceConfig
from tests.reference.erase_sets import Pair


@pytest.mark.parametrize("policy", POLICIES)
@with_examples()
def test_engine__agrees_with_the_reference(policy: str, examples: int) -> None:
    explore(examples, lambda data: agrees(policy, data, **NEEDS.get(policy, {})))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", SET_POLICIES)
@with_examples()
def test_engine__best_sets__agrees_with_the_reference(policy: str, placement: str, examples: int) -> None:
    unit, _ = SET_POLICIES[policy]
    explore(examples, lambda data: agrees(policy, data, erase_unit=unit, placement=placement))


@pytest.mark.parametrize("multi_plane", ["strict", "relaxed"])
@with_examples()
def test_engine__parallel_gc__agrees_with_the_reference(multi_plane: str, examples: int) -> None:
    explore(examples, lambda data: agrees("parallel_gc", data, erase_unit="block", multi_plane=multi_plane))


@pytest.mark.parametrize("multi_plane", ["none", "strict", "relaxed"])
@pytest.mark.parametrize("unit", ["sub_block_set", "block"])
@with_examples()
def test_engine__ippbe__agrees_with_the_reference(unit: str, multi_plane: str, examples: int) -> None:
    def check(data: st.DataObject) -> None:
        policy = data.draw(st.sampled_from(sorted(IPPBE)))
        agrees(policy, data, erase_unit=unit, multi_plane=multi_plane)

    explore(examples, check)


@pytest.mark.parametrize("allocation", ["static", "dynamic", "late"])
@with_examples()
def test_engine__multi_plane_writes__agrees_with_the_reference(allocation: str, examples: int) -> None:
    def check(data: st.DataObject) -> None:
        how: Any = {"multi_plane": data.draw(st.sampled_from(["strict", "relaxed"]))}
        agrees("greedy", data, timing="event", allocation=allocation, multi_plane_writes=True, **how)

    explore(examples, check)


def agrees_on_any_legal_sets(unit: str, data: st.DataObject, **fixed: Any) -> None:
    """Erase sets drawn at random among the legal ones."""
    config = data.draw(configs(erase_unit=unit, **fixed))
    requests = data.draw(request_lists(config.logical_pages, 200))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sim = Simulator(device_config(config), policy=None, seed=config.seed, recording=RECORDING)
    reference = Reference(config)
    steps = reference.decisions(requests)
    sim.feed(request_array(requests))
    choice = None
    while sim.advance() == ERASE_DECISION:
        plane = steps.send(choice)
        assert plane == sim.state.control["decision_plane"][0, 0]
        choice = random_legal_set(reference, plane, rng)
        sim.apply(choice)
    with pytest.raises(StopIteration):
        steps.send(choice)
    assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT


@pytest.mark.parametrize("unit", ["block", "sub_block_run", "sub_block_set"])
@with_examples()
def test_engine__any_legal_sets__agrees(unit: str, examples: int) -> None:
    explore(examples, lambda data: agrees_on_any_legal_sets(unit, data))


@helper
def _check(dev, plane, pairs, count):
    return check_erase_set(dev, plane, pairs, count)


def pairs_array(pairs: list[Pair]) -> np.ndarray:
    """An erase set as the engine takes it."""
    choice = new_choice()
    for k, pair in enumerate(pairs):
        choice[k]["block"], choice[k]["mask"] = pair
    return choice


def random_pair(config: ReferenceConfig, rng: np.random.Generator) -> Pair:
    """Any block with any mask."""
    block = rng.integers(config.planes * config.blocks_per_plane)
    return int(block), int(rng.integers(1, 1 << config.sub_blocks_per_block))


@given(data=st.data())
@settings(QUICK, max_examples=30)
def test_legal_erase_sets__the_same_in_both(data: st.DataObject) -> None:
    """At every decision each block of the device with each mask: refused by both or by neither."""
    unit = data.draw(st.sampled_from(["block", "sub_block_run", "sub_block_set"]))
    config = data.draw(configs(erase_unit=unit, timing="none"))
    requests = data.draw(request_lists(config.logical_pages, 100))
    sim = Simulator(device_config(config), policy=None, seed=config.seed, recording=RECORDING)
    reference = Reference(config)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    steps = reference.decisions(requests)
    sim.feed(request_array(requests))
    choice = None
    while sim.advance() == ERASE_DECISION:
        plane = steps.send(choice)
        dev = Device(*(array[0] for array in sim.arrays), 0)
        for block in range(config.planes * config.blocks_per_plane):
            for mask in range(1 << config.sub_blocks_per_block):
                ours = _check(dev, plane, pairs_array([(block, mask)]), 1) == OK
                assert ours == (reference.device.objection(plane, [(block, mask)]) is None), (block, mask)
        together = [random_pair(config, rng) for _ in range(rng.integers(2, 9))]
        ours = _check(dev, plane, pairs_array(together), len(together)) == OK
        assert ours == (reference.device.objection(plane, together) is None), together
        choice = random_legal_set(reference, plane, rng)
        sim.apply(choice)
