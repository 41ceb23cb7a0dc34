"""td_lifetime: what it learns of lives, and how many streams it plans."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.policy import get_policy
from ssdgym.simulator import Simulator
from tests.baselines.placements.bench import Bench
from tests.engine.devices import device

POLICY = "cost_benefit(since_close=1)+td_lifetime"


def small() -> DeviceConfig:
    geometry = {"channels": 1, "blocks_per_plane": 256, "pages_per_block": 32}
    return device(geometry, {"gc": {"free_blocks": 3}}, over_provisioning=0.07)


def ran(policy: str, workload: str) -> tuple[Simulator, float]:
    """Return a device filled and written by 200,000 pages, and the write amplification of the later half."""
    sim = Simulator(small(), policy=policy)
    sim.fill()
    return sim, sim.run(workload, host_pages=100_000, warmup=100_000, seed=1)["write_amplification"]


def test_page_records__less_than_32_bytes() -> None:
    rule = get_policy("greedy+td_lifetime").beside["placement"]
    assert rule.memory.page is not None
    assert rule.memory.page.itemsize <= 32


def test_valid_pages__are_those_with_a_copy() -> None:
    bench = Bench("td_lifetime", logical_pages=16)
    bench.write(1, 2, 3, 1)
    bench.trim(2)
    memory = bench.memory
    assert np.flatnonzero(memory.page_memory["placed"]).tolist() == [1, 3]
    assert memory.memory["valid"].sum() == 2


def test_life_that_ends__moves_the_value_of_its_state_towards_it() -> None:
    bench = Bench("td_lifetime(planned=0)", logical_pages=16)
    bench.write(1, 1)
    short = bench.memory.memory["weight"][0]
    assert short.min() < 0, "a life of a write is shorter than that of an unknown page"
    assert np.count_nonzero(short) == 6, "one entry of each table"


def test_bootstrap__a_move_is_learned_from_before_the_life_ends() -> None:
    visits = []
    for placement in ("td_lifetime(planned=0)", "td_lifetime(planned=0, bootstrap=0)"):
        bench = Bench(placement, logical_pages=16)
        bench.write(*range(8), 2)
        bench.collect(3, after_writing=9)
        visits.append(int(bench.memory.memory["visits"].sum()))
    assert visits == [12, 6], "six entries for each life"


def test_plan__leaves_the_same_share_of_all_counts() -> None:
    bench = Bench("td_lifetime", logical_pages=40)
    bench.write(*range(5))
    memory = bench.memory.memory
    memory["deaths"], memory["exposed"] = 10.0, 10.0
    bench.write(5)
    assert memory["planned"][0] == 5
    np.testing.assert_allclose(memory["deaths"], 6.0, rtol=1e-6)
    np.testing.assert_allclose(memory["exposed"], 6.0 + memory["valid"], rtol=1e-6)


def planned(workload: str) -> np.void:
    """Return the record that the rule keeps for a device that is written by the workload."""
    return ran(POLICY, workload)[0].rule_memory()[0]


def test_plan__all_lives_are_alike__host_pages_and_relocated_pages_are_two_streams() -> None:
    memory = planned("uniform")
    assert (memory["streams"], memory["apart"]) == (2, 1)
    assert memory["bound"][:2].tolist() == [24, 48]


def test_plan__lives_differ__pages_of_like_lives_share_a_stream() -> None:
    memory = planned("hot90")
    assert memory["streams"] >= 2
    assert not memory["apart"]


def test_change_after_uniform_writes__costs_less_than_with_sepbit() -> None:
    def first_writes(placement: str) -> float:
        sim = Simulator(small(), policy=f"cost_benefit(since_close=1)+{placement}")
        sim.precondition(seed=1)
        return sim.run("synthetic:fin1-memory", host_pages=5_000, seed=1)["write_amplification"]

    assert first_writes("td_lifetime") < first_writes("sepbit")


@pytest.mark.parametrize(
    ("other", "most"),
    [
        ("sepbit", 0.95),
        ("fadac(inclusive=1)", 0.95),
        ("td_lifetime(planned=0)", 1),
        ("td_lifetime(bootstrap=0)", 1),
    ],
    ids=str,
)
def test_skewed_writes__less_write_amplification_than(other: str, most: float) -> None:
    theirs = ran(f"cost_benefit(since_close=1)+{other}", "hot90")[1]
    assert ran(POLICY, "hot90")[1] < most * theirs
