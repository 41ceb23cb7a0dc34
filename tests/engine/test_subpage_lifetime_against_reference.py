"""Cells of the sub-page family that wear out: engine and naive reference live and end alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.engine.comparing import explore, with_examples
from tests.engine.devices import sync_requests
from tests.engine.subpages import KINDS, Both, configs, request_lists
from tests.engine.test_subpage_against_reference import VICTIMS
from tests.reference.subpage import SUBFTL, SubpageConfig

#: What the devices have, by the name of the case.
CASES: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in KINDS},
    "advance_never": {"kind": SUBFTL, "advance": "never"},
    "fewest_valid": {"kind": SUBFTL, "rule": "fewest_valid"},
}


def agrees(data: st.DataObject, **fixed: Any) -> None:
    """One device, which is used, grows older and is used again up to some horizon, to its end or not."""
    config = data.draw(configs(wears_out=True, **fixed))
    both, start_ns = Both(config, data.draw(st.sampled_from(VICTIMS))), 0
    length = data.draw(st.sampled_from([100, 400]))
    for horizon in (None, data.draw(st.none() | st.integers(1, 200))):
        requests = data.draw(request_lists(config.logical_pages, config.slots_per_page, start_ns, length))
        start_ns = requests[-1][0]
        both.run(requests, data.draw(st.lists(st.integers(0, length), max_size=2)), horizon)
        both.check()
        both.pass_days(data.draw(st.sampled_from([1, 17])))
        both.check()


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("case", CASES)
@with_examples(quick=10, thorough=1500)
def test_engine__cells_wear_out__agrees_with_the_reference(case: str, timing: str, examples: int) -> None:
    explore(examples, lambda data: agrees(data, timing=timing, **CASES[case]))


@pytest.mark.parametrize(("rule", "seed"), [("printed", 77), ("fewest_valid", 82)])
def test_eviction_in_the_step_that_binds_a_write__into_a_short_plane__is_behind_its_collection(
    rule: str, seed: int
) -> None:
    """Binding passes the cursors, so that the eviction goes to another plane than was looked at before."""
    config = SubpageConfig(
        rule=rule,
        channels=2,
        dies_per_chip=2,
        blocks_per_plane=11,
        region_blocks=4,
        slots_per_page=2,
        logical_pages=94,
        threshold_blocks=3,
        buffer_groups=2,
        timing="none",
        endurance=15,
        endurance_spread=0.2,
        capacity="variant",
        least_capacity=11,
        seed=seed,
    )
    both = Both(config, "greedy")
    both.run([tuple(map(int, request)) for request in sync_requests(400, 94, seed=seed)], [], None)
    both.check()
