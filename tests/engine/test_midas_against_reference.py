"""MiDAS in the engine and in the naive reference, for as long as it takes to choose other groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ssdgym.baselines.midas.records import STREAMS
from ssdgym.engine.view import view_arrays
from ssdgym.policy.on_device import beside_on
from ssdgym.requests import TRIM, WRITE
from tests.engine.comparing import run_both
from tests.engine.oracle import assert_same
from tests.reference import ReferenceConfig
from tests.reference.placements.midas import Midas


def skewed(count: int, pages: int) -> np.ndarray:
    """Pages, few of them often."""
    weights = 1 / np.arange(1, pages + 1) ** 1.1
    return np.random.default_rng(3).choice(pages, count, p=weights / weights.sum())


def midas_after(writes: float, share: float, uniform: float = 0, **fields: Any) -> Any:
    """Return the memory of MiDAS after it is the same in engine and reference, but for the engine's lists.

    All logical pages are written first, then skewed pages, and then uniform ones; some are trimmed.

    Args:
        writes: skewed ones, as a multiple of the physical pages.
        share: logical pages per physical page.
        uniform: likewise uniform writes.
        fields: of the reference's configuration.
    """
    config = ReferenceConfig(
        threshold_blocks=2, read_ns=1, program_ns=3, erase_ns=10, seed=5, placement="midas", **fields
    )
    pages = config.planes * config.pages_per_plane
    config = replace(config, logical_pages=int(share * pages))
    alike = np.random.default_rng(4).integers(0, config.logical_pages, int(uniform * pages))
    lpns = [*range(config.logical_pages), *skewed(int(writes * pages), config.logical_pages), *alike]
    requests = [(8 * k, int(lpn), 1, TRIM if k % 200 == 199 else WRITE, 0) for k, lpn in enumerate(lpns)]
    sim, reference = run_both(config, "chain", requests, [], None)
    assert_same(sim, reference)
    rule = beside_on(sim.device)["placement"]
    view, own = view_arrays(sim.arrays, 0, rule.memory, "place"), reference.device.rule
    assert isinstance(own, Midas)
    for name in own.memories.dtype.names:
        assert np.array_equal(view.memory[name][0], own.memories[name][0]), name
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
    return own.memory


@pytest.mark.parametrize("timing", ["none", "event"])
def test_midas__groups_of_a_configuration__the_same_in_both(timing: str) -> None:
    memory = midas_after(6.5, timing=timing, blocks_per_plane=64, pages_per_block=8, share=0.7)
    assert memory.applied == 1
    assert memory.last > 1
    assert memory.watched_since > 0


def test_midas__groups_in_epochs_that_double_and_chains_that_fold__the_same_in_both() -> None:
    memory = midas_after(15, uniform=5, blocks_per_plane=56, pages_per_block=4, share=0.6)
    assert memory.epoch_pages == 2 * 4 * 56 * 4, "doubled, since the last group was empty"
    assert memory.applied == 1
    assert memory.irregular == 1
    assert memory.top > memory.last, "a tail, since the workload is another one"


@pytest.mark.slow
def test_midas__groups_of_several_planes__the_same_in_both() -> None:
    memory = midas_after(11, planes_per_die=2, blocks_per_plane=64, pages_per_block=8, share=0.7)
    assert memory.applied >= 1
