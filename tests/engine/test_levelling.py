"""Rules that level wear: the compiled engine agrees with the reference, and without rules nothing changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.policy import allocation_policy
from ssdgym.simulator import Simulator
from tests.engine.comparing import agrees, explore, with_examples
from tests.engine.devices import device, differences, mixed_requests
from tests.engine.oracle import ALLOCATIONS

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
@with_examples(25, thorough=600)
def test_allocations__agree_with_the_reference(kind: str, timing: str, examples: int) -> None:
    policy, how = DEVICES[kind]

    def check(data: Any) -> None:
        allocation = data.draw(st.sampled_from(ALLOCATIONS))
        agrees(policy, data, timing=timing, block_allocation=allocation, **how)

    explore(examples, check)


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
    assert spreads["least_worn"] < spreads["first_freed"] < spreads["most_worn"]


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
    with pytest.raises(SsdgymError, match="wrong_block named one that is not of the plane's pool"):
        sim.run(mixed_requests(50, sim.logical_pages))


@pytest.mark.parametrize(
    ("policy", "name", "reason"),
    [
        ("greedy+least", "tiny", "allocation least does not exist; did you mean least_worn?"),
        ("greedy+least_worn+most_worn", "tiny", "names 2 allocations; give one."),
        ("least_worn", "tiny", "names no victim rule; add one, as in greedy+least_worn."),
        (
            "greedy+least_worn",
            "subftl-tiny",
            "takes no allocation; name a victim rule alone",
        ),
        ("merge+least_worn", "pen-tiny", "merge chooses how blocks are merged and stands alone"),
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
