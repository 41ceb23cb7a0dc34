"""GSM and PB: what they keep of best sets finds what a search of all blocks finds."""

from __future__ import annotations

import pytest

from ssdgym.baselines.victims.gsm import by_search
from ssdgym.policy import victim_policy
from ssdgym.simulator import Simulator
from tests.engine.audit_tables import tables_fault
from tests.engine.devices import device, differences, mixed_requests


@pytest.mark.usefixtures("own_registrations")
@pytest.mark.parametrize(
    ("policy", "erase_unit", "isolation"),
    [("gsm", "sub_block_run", "software"), ("pb", "sub_block_set", "none")],
)
def test_kept_best_sets__find_the_victims_that_a_search_finds(
    policy: str, erase_unit: str, isolation: str
) -> None:
    victim_policy(f"{policy}_searched", source="a test", erase_unit=erase_unit, isolation=isolation)(
        by_search
    )
    model = device({"sub_blocks_per_block": 4}, erase_unit=erase_unit, isolation=isolation)
    kept, searched = (Simulator(model, policy=name) for name in (policy, f"{policy}_searched"))
    for part in range(3):
        requests = mixed_requests(1500, kept.logical_pages, seed=part)
        metrics = kept.run(requests)
        searched.run(requests)
        found = differences(kept.state, 0, searched.state, 0)
        assert {name.partition(".")[0] for name in found} <= {"params", "block_memory", "stream_memory"}
        assert list(tables_fault(kept)) == []
    assert metrics["gc_invocations"] > 100


def test_kept_best_sets__after_another_rule_has_collected__are_looked_for_anew() -> None:
    model = device({"sub_blocks_per_block": 4}, erase_unit="sub_block_run", isolation="software")
    sim = Simulator(model, policy="gsm")
    sim.precondition("uniform")
    sim.run(mixed_requests(500, sim.logical_pages))
    assert list(tables_fault(sim)) == [] and sim.metrics()["gc_invocations"] > 0
