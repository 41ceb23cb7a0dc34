"""Rules that level wear: the compiled engine agrees with the reference, and without rules nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.policy import allocation_policy
from ssdgym.requests import READ, TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import agrees, explore, run_both, with_examples
from tests.engine.devices import device, differences, mixed_requests
from tests.engine.oracle import ALLOCATIONS, LEVELLINGS, RULE_PARAMETERS, assert_same, request_array
from tests.reference import ReferenceConfig

#: Devices that open blocks in ways of their own.
DEVICES: dict[str, tuple[str, dict[str, Any]]] = {
    "blocks": ("cost_benefit", {"erase_unit": "block"}),
    "sub-blocks": ("gsm", {"erase_unit": "sub_block_run", "placement": "sep_gc"}),
    "several planes": ("parallel_gc", {"multi_plane": "strict", "placement": "sep_gc"}),
    "shared open blocks": ("greedy", {"placement": "sepbit"}),
    "padding": ("greedy", {"multi_plane": "relaxed", "multi_plane_writes": True, "multi_plane_rows": "pad"}),
}


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("kind", DEVICES)
@with_examples(8, thorough=600)
def test_allocations__agree_with_the_reference(kind: str, timing: str, examples: int) -> None:
    policy, how = DEVICES[kind]

    def check(data: Any) -> None:
        allocation = data.draw(st.sampled_from(ALLOCATIONS))
        agrees(policy, data, timing=timing, block_allocation=allocation, **how)

    explore(examples, check)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("rule", LEVELLINGS)
@with_examples(8, thorough=600)
def test_levelling_rules__agree_with_the_reference(rule: str, timing: str, examples: int) -> None:
    def check(data: Any) -> None:
        policy, how = DEVICES[data.draw(st.sampled_from(sorted(DEVICES)))]
        allocation = data.draw(st.sampled_from((None, *ALLOCATIONS)))
        fixed = {"levelling": rule, "block_allocation": allocation}
        agrees(policy, data, timing=timing, **fixed, **how)

    explore(examples, check)


def hot_and_cold(count: int, logical_pages: int, seed: int = 1) -> list[tuple[int, ...]]:
    """Writes of all pages once and then, mostly, of a few; some reads and trims."""
    rng = np.random.default_rng(seed)
    few = rng.random(count) < 0.95
    pages = np.where(few, rng.integers(0, logical_pages // 8, count), rng.integers(0, logical_pages, count))
    pages[:logical_pages] = np.arange(logical_pages)
    ops = rng.choice([WRITE, READ, TRIM], count, p=[0.9, 0.08, 0.02])
    ops[:logical_pages] = WRITE
    return [(8 * k, int(lpn), 1, int(op), 0) for k, (lpn, op) in enumerate(zip(pages, ops, strict=True))]


#: Parameters by which they move a block now and then within thousands of writes.
EAGER = {"swl": {"threshold": 3, "k": 1}, "progressive": {"endurance": 60}}


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("rule", LEVELLINGS)
def test_levelling_rules__for_thousands_of_writes__agree_with_the_reference(rule: str, timing: str) -> None:
    config = ReferenceConfig(
        planes_per_die=2,
        blocks_per_plane=16,
        logical_pages=70,
        placement="sep_gc",
        levelling=rule,
        levelling_parameters=dict.fromkeys(LEVELLINGS[rule], 2) | EAGER.get(rule, {}),
        threshold_blocks=2,
        timing=timing,
        read_ns=1,
        program_ns=3,
        erase_ns=10,
    )
    sim, reference = run_both(config, "cost_benefit", hot_and_cold(3000, 70), [900], None)
    assert_same(sim, reference)
    assert reference.counters["levelling_moves"] >= reference.counters["levelling_rounds"] > 10


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("rule", ["dual_pool"])
def test_levelling_rules__with_every_placement__lose_nothing(rule: str, timing: str) -> None:
    for placement in ("single", "sep_gc", "hot_cold", *RULE_PARAMETERS):
        if placement == "hints_isolated":
            continue  # it has as many streams as there can be
        small = device({"blocks_per_plane": 48}, {"timing": timing})
        sim = Simulator(small, policy=f"cost_benefit+{placement}+least_worn+{rule}(threshold=1)")
        sim.run(request_array(hot_and_cold(4000, sim.logical_pages)))
        assert sim.metrics()["lost_pages"] == 0
        assert sim.metrics()["levelling_rounds"] > 0, placement
        assert first_fault(sim.arrays, 0) == NO_FAULT, placement


@pytest.mark.parametrize("timing", ["none", "event"])
def test_first_freed__the_device_that_has_no_allocation(timing: str) -> None:
    small = device(ftl={"timing": timing, "placement": "sep_gc"})
    sims = [Simulator(small, policy=policy) for policy in ("greedy", "greedy+first_freed")]
    for sim in sims:
        sim.run(mixed_requests(3000, sim.logical_pages))
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


def test_least_worn__spreads_erases_that_the_order_does_not() -> None:
    spreads = {}
    for allocation in ALLOCATIONS:
        sim = Simulator("demo", ftl={"timing": "none"}, policy=f"greedy+{allocation}")
        sim.fill()
        spreads[allocation] = sim.run("zipf99", host_pages=40_000, seed=1)["wear"]["std_erases"]
    assert spreads["least_worn"] < spreads["first_freed"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", LEVELLINGS)
def test_levelling_rules__level_what_is_hot_and_cold_and_only_cost_on_uniform_writes(rule: str) -> None:
    label = {"swl": "swl(threshold=4)", "progressive": "progressive(endurance=300)"}.get(rule, rule)
    label = {"rejuvenator": "rejuvenator(tau=16)"}.get(
        rule, label if "(" in label else f"{rule}(threshold=8)"
    )
    hot, victims = (
        {"kind": "hot_cold", "hot_fraction": 0.1, "hot_access": 0.99},
        "cost_benefit(since_close=1)",
    )
    found = {}
    for name, workload in (("uniform", "uniform"), ("hot", hot)):
        for policy in (victims, f"{victims}+{label}"):
            sim = Simulator("demo", ftl={"timing": "none"}, policy=policy)
            sim.fill()
            metrics = sim.run(workload, host_pages=300_000, seed=1)
            spread = metrics["wear"]["std_erases"] / metrics["wear"]["mean_erases"]
            found[name, policy == victims] = spread, metrics["write_amplification"]
    assert found["hot", False][0] < 0.9 * found["hot", True][0]
    assert found["uniform", False][1] >= found["uniform", True][1]


def test_allocation__of_a_user__with_memory_and_a_hook() -> None:
    count = [("opened", "i8")]

    @allocation_policy("counting_opened", source="a test", block=count, memory=count)
    def counting(view: Any, plane: int, stream: int, parameters: Any) -> int:
        """Open the block of the pool that was opened least."""
        best = block = view.plane[plane].pool_head
        while block >= 0:
            if view.block_memory[block].opened < view.block_memory[best].opened:
                best = block
            block = view.block[block].next_pool
        return best

    @counting.on("opened")
    def opened(view: Any, plane: int, block: int, parameters: Any) -> None:
        view.block_memory[block].opened += 1
        view.memory[0].opened += 1

    sim = Simulator(device({"blocks_per_plane": 48}), policy="greedy+td_lifetime+counting_opened")
    sim.run(mixed_requests(3000, sim.logical_pages))
    assert sim.rule_memory("allocation")[0].opened > 300
    assert sim.metrics()["lost_pages"] == 0


def test_allocation__that_names_no_free_block__is_refused() -> None:
    @allocation_policy("wrong_block", source="a test")
    def wrong(view: Any, plane: int, stream: int, parameters: Any) -> int:
        """Name a block of no plane."""
        return -7

    sim = Simulator(device(), policy="greedy+wrong_block")
    with pytest.raises(SsdgymError, match="wrong_block named one outside the plane's pool"):
        sim.run(mixed_requests(50, sim.logical_pages))


@pytest.mark.parametrize(
    ("policy", "name", "reason"),
    [
        ("greedy+least", "tiny", "rule least does not exist; did you mean least_worn?"),
        (
            "greedy+least_worn+first_freed",
            "tiny",
            "names the allocation first_freed beside least_worn; leave one of them out.",
        ),
        ("least_worn", "tiny", "names no victim rule; add one, as in greedy+least_worn."),
        (
            "greedy+least_worn",
            "subftl-tiny",
            "takes no allocation; name a victim rule alone",
        ),
        ("greedy+dual_pool", "subftl-tiny", "takes no levelling rule; name a victim rule alone"),
        ("greedy+hints_isolated+dual_pool", "demo", "has 16 streams and leaves none of 16 for ftl.levelling"),
        ("merge+least_worn", "pen-tiny", "merge is a merge rule and stands alone"),
        (
            "speedupgc+least_worn",
            "speedupgc-64l-small",
            "is for placements in streams, not hotness_groups; leave it out",
        ),
    ],
)
def test_allocation__that_makes_no_sense__is_refused(policy: str, name: str, reason: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        Simulator(name, policy=policy)
    assert reason in str(caught.value)
