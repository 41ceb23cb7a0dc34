"""The compiled engine and the naive reference agree under each of the switches, and under all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.comparing import QUICK, THOROUGH, agrees
from tests.engine.oracle import RULE_PARAMETERS

JOINED: dict[str, Any] = {"multi_plane_writes": True}
#: Each with what it needs to make a difference.
SWITCHES: dict[str, dict[str, Any]] = {
    "transfer": {"write_completes": "transfer"},
    "queue_empty": {"gc_start": "queue_empty"},
    "round": {"gc_grain": "round", "preemptible": False},
    "pad": {**JOINED, "multi_plane_rows": "pad"},
    "reads": {"multi_plane_reads": True},
}


def agrees_under(data: st.DataObject, *switches: str) -> None:
    how: dict[str, Any] = {}
    for switch in switches:
        how |= SWITCHES[switch]
    if {"pad", "reads"} & set(switches):
        how["multi_plane"] = data.draw(st.sampled_from(["strict", "relaxed"]))
    policy = data.draw(st.sampled_from(["greedy", "cost_benefit", "ippbe(limit=3,tau=0.75)"]))
    agrees(policy, data, timing="event", **how)


@pytest.mark.parametrize("switch", SWITCHES)
@given(data=st.data())
@QUICK
def test_engine__switch__agrees_with_the_reference(switch: str, data: st.DataObject) -> None:
    agrees_under(data, switch)


@pytest.mark.slow
@pytest.mark.parametrize("switch", SWITCHES)
@given(data=st.data())
@THOROUGH
def test_engine__switch__agrees_with_the_reference__thoroughly(switch: str, data: st.DataObject) -> None:
    agrees_under(data, switch)


@given(data=st.data())
@QUICK
def test_engine__several_switches__agrees_with_the_reference(data: st.DataObject) -> None:
    agrees_under(data, *data.draw(st.sets(st.sampled_from(sorted(SWITCHES)), min_size=2)))


@pytest.mark.slow
@given(data=st.data())
@THOROUGH
def test_engine__several_switches__agrees_with_the_reference__thoroughly(data: st.DataObject) -> None:
    agrees_under(data, *data.draw(st.sets(st.sampled_from(sorted(SWITCHES)), min_size=2)))


@given(data=st.data())
@QUICK
def test_engine__padding_under_placement_rules__agrees_with_the_reference(data: st.DataObject) -> None:
    how = {**SWITCHES["pad"], "multi_plane": data.draw(st.sampled_from(["strict", "relaxed"]))}
    agrees(
        "greedy", data, timing="event", placement=data.draw(st.sampled_from(sorted(RULE_PARAMETERS))), **how
    )
