"""MiDAS in the engine and in the naive reference, for as long as it takes to change its groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ssdgym.baselines.midas.records import STREAMS
from ssdgym.engine.view import view_arrays
from ssdgym.policy.registry import placement_of
from ssdgym.requests import TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.comparing import run_both
from tests.engine.oracle import assert_same
from tests.reference import Reference, ReferenceConfig
from tests.reference.placements.midas import Midas


def assert_same_memory(sim: Simulator, reference: Reference) -> None:
    """What MiDAS knows is the same, but for the lists, which the reference has no use for."""
    rule, own = placement_of(sim.device), reference.device.rule
    assert rule is not None
    assert isinstance(own, Midas)
    view = view_arrays(sim.arrays, 0, rule.memory, "place")
    for name in own.memories.dtype.names:
        ours, theirs = view.memory[name][0], own.memories[name][0]
        assert np.array_equal(ours, theirs), name
    pages, blocks = len(own.pages), len(own.blocks)
    for name in ("stamp", "heat"):
        assert np.array_equal(view.page_memory[name][:pages], own.pages[name]), name
    for name in ("intervals", "group", "listed", "serial"):
        assert np.array_equal(view.block_memory[name][:blocks], own.blocks[name]), name
    for plane in range(reference.config.planes):
        for group in range(STREAMS):
            record = view.stream_memory[plane * STREAMS + group]
            found, block = [], int(record.oldest)
            while block >= 0:
                found.append(block)
                block = int(view.block_memory[block].next)
            assert len(found) == record.sealed
            assert sorted(found) == sorted(own.members(plane, group))


def skewed(count: int, uniform: int, pages: int) -> list[tuple[int, int, int, int, int]]:
    """Writes of single pages, few of them often, and then all alike; some trims."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, pages + 1) ** 1.1
    lpns = [*range(pages), *rng.choice(pages, count, p=weights / weights.sum())]
    lpns += rng.integers(0, pages, uniform).tolist()
    return [(8 * k, int(lpn), 1, TRIM if k % 200 == 199 else WRITE, 0) for k, lpn in enumerate(lpns)]


def compared(writes: float, timing: str = "none", **fields: Any) -> Any:
    """Write so many times the pages of a device; return what MiDAS knows then, the same in both."""
    share, uniform = fields.pop("share"), fields.pop("uniform", 0)
    config = ReferenceConfig(
        placement="midas",
        parameters={"sample": 1},
        threshold_blocks=2,
        timing=timing,
        read_ns=1,
        program_ns=3,
        erase_ns=10,
        logical_pages=1,
        **fields,
    )
    pages = config.planes * config.pages_per_plane
    config = replace(config, logical_pages=int(share * pages))
    requests = skewed(int(writes * pages), int(uniform * pages), config.logical_pages)
    sim, reference = run_both(config, "chain", requests, [], None)
    assert_same(sim, reference)
    assert_same_memory(sim, reference)
    assert isinstance(reference.device.rule, Midas)
    return reference.device.rule.memory


@pytest.mark.parametrize("timing", ["none", "event"])
def test_groups__of_a_configuration__the_same_in_both(timing: str) -> None:
    memory = compared(6.5, timing, blocks_per_plane=64, pages_per_block=8, share=0.7)
    assert memory.applied == 1
    assert memory.last > 1
    assert memory.watched_since > 0


def test_groups__in_epochs_that_double_and_chains_that_fold__the_same_in_both() -> None:
    memory = compared(15, uniform=5, blocks_per_plane=56, pages_per_block=4, share=0.6)
    assert memory.epoch_pages == 2 * 4 * 56 * 4, "doubled, since the last group was empty"
    assert memory.applied == 1
    assert memory.irregular == 1
    assert memory.top > memory.last, "a tail, since the workload is another one"


@pytest.mark.slow
def test_groups__of_several_planes__the_same_in_both() -> None:
    memory = compared(11, planes_per_die=2, blocks_per_plane=64, pages_per_block=8, share=0.7)
    assert memory.applied >= 1
