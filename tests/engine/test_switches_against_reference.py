"""The compiled engine and the naive reference agree under each of the switches, and under all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from ssdgym.requests import TRIM, WRITE
from tests.engine.comparing import agrees, explore, run_both, with_examples
from tests.engine.oracle import HOT_PLACEMENTS, PLACEMENTS, RULE_PARAMETERS, SET_POLICIES, assert_same
from tests.reference import ReferenceConfig

#: Values of fields, one of which is drawn for each.
Choices = dict[str, Sequence[Any]]

TIMED: Choices = {"timing": ["event"]}
MOSTLY_TIMED: Choices = {"timing": ["event", "event", "none"]}
PARALLEL: Choices = {"multi_plane": ["strict", "relaxed"]}
JOINED: Choices = {**PARALLEL, "multi_plane_writes": [True]}
#: Each with what it needs to make a difference.
SWITCHES: dict[str, Choices] = {
    "transfer": {**TIMED, "write_completes": ["transfer"]},
    "queue_empty": {**TIMED, "gc_start": ["queue_empty"]},
    "round": {**TIMED, "gc_grain": ["round"], "preemptible": [False]},
    "pad": {**TIMED, **JOINED, "multi_plane_rows": ["pad"]},
    "reads": {**TIMED, **PARALLEL, "multi_plane_reads": [True]},
    "aligned": {
        **JOINED,
        "multi_plane_rows": ["aligned"],
        "placement": ["sep_gc"],
        **MOSTLY_TIMED,
    },
}
#: Those of interest once garbage is collected, which takes a while on its own.
COLLECTING = {"aligned"}
#: Those that can be on at the same time.
TOGETHER = sorted(set(SWITCHES) - {"pad", "aligned"})
#: Of placements by hotness, on sub-blocks.
HOTNESS: dict[str, Choices] = {
    "updates": {"hotness_counts": ["updates"], "placement": HOT_PLACEMENTS},
    "block": {"hotness_scatter": ["block"], "placement": ["hotness_groups"]},
    "updates and block": {
        "hotness_counts": ["updates"],
        "hotness_scatter": ["block"],
        "placement": ["hotness_groups"],
    },
    "pages per counter": {"pages_per_counter": [1, 2, 5], "placement": HOT_PLACEMENTS},
}
#: Victim rules for sub-blocks, with the erase unit.
SET_RULES = [
    *((name, unit) for name, (unit, _) in SET_POLICIES.items()),
    ("ippbe(limit=3,tau=0.75)", "sub_block_set"),
    ("greedy", "sub_block_run"),
]


def drawn(data: st.DataObject, *choices: Choices) -> dict[str, Any]:
    """One value of every field; of a field that is in several the last counts."""
    together = {name: values for fields in choices for name, values in fields.items()}
    return {name: data.draw(st.sampled_from(list(values)), label=name) for name, values in together.items()}


def agrees_under(data: st.DataObject, *switches: str) -> None:
    policy = data.draw(st.sampled_from(["greedy", "cost_benefit", "ippbe(limit=3,tau=0.75)"]))
    prepare = "none"
    if COLLECTING & set(switches):
        prepare = data.draw(st.sampled_from(["none", "until_gc"]))
    how = [SWITCHES[switch] for switch in switches]
    if any(fields.get("timing") == TIMED["timing"] for fields in how):
        how.append(TIMED)
    agrees(policy, data, prepare, **drawn(data, *how))


def agrees_by_hotness(data: st.DataObject, *choices: Choices, prepare: str = "none") -> None:
    policy, unit = data.draw(st.sampled_from(SET_RULES))
    how = {"erase_unit": [unit], **PARALLEL} if policy.startswith("ippbe") else {"erase_unit": [unit]}
    agrees(policy, data, prepare, **drawn(data, *choices, how))


@pytest.mark.parametrize("switch", sorted(set(SWITCHES) - COLLECTING))
@with_examples()
def test_engine__switch__agrees_with_the_reference(switch: str, examples: int) -> None:
    explore(examples, lambda data: agrees_under(data, switch))


@pytest.mark.parametrize("switch", sorted(COLLECTING))
@with_examples()
def test_engine__switch_of_collecting_devices__agrees_with_the_reference(switch: str, examples: int) -> None:
    explore(examples, lambda data: agrees_under(data, switch))


@with_examples()
def test_engine__several_switches__agrees_with_the_reference(examples: int) -> None:
    def check(data: st.DataObject) -> None:
        switches = data.draw(st.sets(st.sampled_from(TOGETHER), min_size=2))
        rows = data.draw(st.sampled_from([[], ["pad"], ["aligned"]]))
        agrees_under(data, *switches, *rows)

    explore(examples, check)


@with_examples(20, thorough=500)
def test_engine__padded_under_placement_rules__agrees_with_the_reference(examples: int) -> None:
    how: Choices = {**SWITCHES["pad"], "placement": sorted(RULE_PARAMETERS)}
    explore(examples, lambda data: agrees("greedy", data, **drawn(data, how)))


@pytest.mark.parametrize("switch", HOTNESS)
@with_examples()
def test_engine__hotness__agrees_with_the_reference(switch: str, examples: int) -> None:
    explore(examples, lambda data: agrees_by_hotness(data, HOTNESS[switch]))


@pytest.mark.parametrize("placement", PLACEMENTS)
@with_examples()
def test_engine__after_greedy_preconditioning__agrees_with_the_reference(
    placement: str, examples: int
) -> None:
    scatters = ["page", "block"] if placement == "hotness_groups" else ["page"]
    choices: Choices = {"placement": [placement], "hotness_scatter": scatters}
    explore(examples, lambda data: agrees_by_hotness(data, choices, prepare="until_gc_greedy"))


def test_engine__a_page_dead_at_birth_closes_a_block__it_is_reclassified_once() -> None:
    """Reclassified twice, with the page valid and without, it would have moved another block down."""
    config = ReferenceConfig(
        planes_per_die=2,
        blocks_per_plane=8,
        sub_blocks_per_block=2,
        pages_per_block=4,
        logical_pages=32,
        erase_unit="sub_block_run",
        isolation="hardware",
        placement="hotness_groups",
        hashes=1,
        counters=8,
        thresholds=(2, 3, 9),
        hotness_counts="updates",
        hotness_scatter="block",
        threshold_pages=12,
        background_pages=1,
        preemptible=True,
        timing="event",
        transfer_ns=3,
        window_pages=5,
    )
    requests = [
        (15, 1, 4, WRITE, 0, 1),
        (16, 0, 2, WRITE, 0, 0),
        (57, 2, 1, WRITE, 0, 2),
        (67, 0, 4, WRITE, 0, 0),
        (72, 0, 4, WRITE, 0, 0),
        (77, 1, 3, TRIM, 0, 1),
        (136, 2, 3, WRITE, 0, 2),
        (136, 2, 3, WRITE, 0, 2),
        (137, 0, 4, WRITE, 0, 0),
        (142, 1, 4, TRIM, 0, 1),
    ]
    assert_same(*run_both(config, "gsm", requests, [], None))
