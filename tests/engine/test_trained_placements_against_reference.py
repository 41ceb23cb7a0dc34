"""DOGI and MiDAS in the engine and in the naive reference, for as long as it takes to choose other groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ssdgym.baselines.midas.records import STREAMS
from ssdgym.engine.view import view_arrays
from ssdgym.policy.on_device import beside_on
from ssdgym.requests import TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.comparing import run_both
from tests.engine.devices import device, random_writes
from tests.engine.oracle import assert_same
from tests.reference import Reference, ReferenceConfig
from tests.reference.placements.dogi import Dogi
from tests.reference.placements.midas import Midas


def skewed(count: int, pages: int) -> np.ndarray:
    """Pages, few of them often."""
    weights = 1 / np.arange(1, pages + 1) ** 1.1
    return np.random.default_rng(3).choice(pages, count, p=weights / weights.sum())


def compared(
    policy: str, draw: Callable[[int, int], np.ndarray], share: float, **fields: Any
) -> tuple[Simulator, Reference]:
    """Write all pages and then those that are drawn for the physical and the logical pages of a device.

    Some are trimmed. The device is the same in both afterwards.
    """
    config = ReferenceConfig(
        threshold_blocks=2, read_ns=1, program_ns=3, erase_ns=10, logical_pages=1, seed=5, **fields
    )
    pages = config.planes * config.pages_per_plane
    config = replace(config, logical_pages=int(share * pages))
    lpns = [*range(config.logical_pages), *draw(pages, config.logical_pages).tolist()]
    requests = [(8 * k, lpn, 1, TRIM if k % 200 == 199 else WRITE, 0) for k, lpn in enumerate(lpns)]
    sim, reference = run_both(config, policy, requests, [], None)
    assert_same(sim, reference)
    return sim, reference


def noted(sim: Simulator) -> Any:
    """What the placement of the engine has noted."""
    rule = beside_on(sim.device)["placement"]
    return view_arrays(sim.arrays, 0, rule.memory, "place")


@pytest.mark.parametrize(("timing", "planes"), [("none", 1), ("event", 2)])
def test_dogi__trained_many_times__the_same_in_both(timing: str, planes: int) -> None:
    def some_in_turns(pages: int, logical_pages: int) -> np.ndarray:
        lpns = skewed(5 * pages, logical_pages)
        lpns[::3] = logical_pages // 2 + np.arange(len(lpns[::3])) % (logical_pages // 8)
        return lpns

    sizes = {"planes_per_die": planes, "blocks_per_plane": {1: 64, 2: 40}[planes], "pages_per_block": 8}
    sim, reference = compared("expired", some_in_turns, 0.55, placement="dogi", timing=timing, **sizes)
    view, own = noted(sim), reference.device.rule
    assert isinstance(own, Dogi)
    for part, theirs in (
        ("memory", own.memories),
        ("page_memory", own.pages),
        ("block_memory", own.blocks),
    ):
        for name in theirs.dtype.names:
            assert np.array_equal(getattr(view, part)[name], theirs[name]), name
    memory: Any = own.memory
    assert memory.trained >= 3
    assert memory.configured == 1
    assert memory.top > 1
    assert memory.target.any()
    assert not memory.hidden.any(), "asking for a stream changes nothing"


def test_dogi__cut_into_pieces_and_restored__bit_for_bit_the_same() -> None:
    config = device({"channels": 1, "blocks_per_plane": 64}, logical_pages=280)
    requests = random_writes(2600, 280, seed=3)
    whole, parts = (Simulator(config, policy="dogi", seed=9) for _ in range(2))
    whole.feed(requests)
    whole.advance()
    parts.feed(requests)
    parts.set_horizon(1100)
    parts.advance(last=False)
    saved = parts.snapshot()
    for _ in range(2):
        parts.restore(saved)
        parts.set_horizon(None)
        parts.advance()
    assert whole.same_as(parts)
    assert noted(parts).memory[0].trained > 0


def midas_after(writes: float, uniform: float = 0, **fields: Any) -> Any:
    """What MiDAS knows after so many writes of the pages of a device, and then of all pages alike.

    It is the same in both, but for the lists, which the reference has no use for.
    """

    def draw(pages: int, logical_pages: int) -> np.ndarray:
        alike = np.random.default_rng(4).integers(0, logical_pages, int(uniform * pages))
        return np.concatenate([skewed(int(writes * pages), logical_pages), alike])

    sim, reference = compared("chain", draw, placement="midas", **fields)
    view, own = noted(sim), reference.device.rule
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
