"""A device with as many streams as there can be, full to its last logical page."""

from __future__ import annotations

import pytest

from ssdgym.engine.core.faults import FAULTS
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.entries import first_fault
from ssdgym.policy import placement_policy
from ssdgym.simulator import Simulator
from tests.engine.devices import device, random_writes


def anywhere(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Put a page into a stream that nothing says anything about."""
    mixed = (lpn * 2654435761 + view.control[0].clock * 40503 + source * 977) % 4294967291
    return (mixed >> 7) % 16


@pytest.mark.parametrize("policy", ["greedy", "fifo", "random"])
def test_sixteen_streams__written_twenty_times_while_full__never_out_of_space(policy: str) -> None:
    register = placement_policy(
        "anywhere", source="a test", streams=MAX_STREAMS, relocation_streams=MAX_STREAMS
    )
    register(anywhere)
    blocks, pages = 200, 64
    kept = 1 + MAX_STREAMS + MAX_STREAMS  # the floor, and the open blocks
    config = device(
        {"blocks_per_plane": blocks, "pages_per_block": pages},
        {"timing": "none", "gc": {"free_blocks": 2}},
        logical_pages=(blocks - kept) * pages,
    )
    sim = Simulator(config, policy=f"{policy}+anywhere")
    sim.fill()
    metrics = sim.run(random_writes(20 * sim.logical_pages, sim.logical_pages))
    assert metrics["host_pages_written"] == 20 * sim.logical_pages
    assert metrics["lost_pages"] == 0
    assert FAULTS[first_fault(sim.arrays, 0)] == "none"
    assert all(stream["relocated_pages"] > 0 for stream in metrics["streams"].values())
