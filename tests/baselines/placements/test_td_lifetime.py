"""td_lifetime: what it learns of lives, and how many streams it plans."""

from __future__ import annotations

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.view import view_arrays
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
    rule = get_policy("greedy+td_lifetime").placement
    assert rule is not None
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


@pytest.mark.parametrize(("workload", "streams"), [("uniform", {1}), ("hot90", {2, 3, 4, 5, 6, 7, 8})])
def test_plan__one_stream_where_all_lives_are_alike__several_where_they_differ(
    workload: str, streams: set[int]
) -> None:
    sim, _ = ran(POLICY, workload)
    rule = get_policy(POLICY).placement
    assert rule is not None
    memory = view_arrays(sim.state, 0, rule.memory, "place").memory
    assert int(memory["streams"][0]) in streams


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
