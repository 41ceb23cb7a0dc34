"""DOGI in the engine and in the naive reference, for as long as it takes to train and choose groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.view import view_arrays
from ssdgym.policy.registry import placement_of
from ssdgym.requests import TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.comparing import run_both
from tests.engine.devices import device, random_writes
from tests.engine.oracle import assert_same
from tests.reference import Reference, ReferenceConfig
from tests.reference.placements.dogi import Dogi


def assert_same_memory(sim: Simulator, reference: Reference) -> None:
    """All that DOGI has noted is the same, bit for bit."""
    rule, own = placement_of(sim.device), reference.device.rule
    assert rule is not None
    assert isinstance(own, Dogi)
    view = view_arrays(sim.arrays, 0, rule.memory, "place")
    for part, theirs in (
        ("memory", own.memories),
        ("page_memory", own.pages),
        ("block_memory", own.blocks),
        ("stream_memory", own.groups),
    ):
        for name in theirs.dtype.names:
            assert np.array_equal(getattr(view, part)[name], theirs[name]), name


def skewed(count: int, pages: int) -> list[tuple[int, int, int, int, int]]:
    """Writes of single pages, few of them often and some in turns; some trims."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, pages + 1) ** 1.1
    lpns = rng.choice(pages, count, p=weights / weights.sum())
    lpns[::3] = pages // 2 + np.arange(len(lpns[::3])) % (pages // 8)
    lpns = [*range(pages), *lpns]
    return [(8 * k, int(lpn), 1, TRIM if k % 200 == 199 else WRITE, 0) for k, lpn in enumerate(lpns)]


@pytest.mark.parametrize(
    ("timing", "parameters", "planes"),
    [("none", {}, 1), ("event", {"colder": 1}, 2)],
)
def test_dogi__trained_many_times__the_same_in_both(
    timing: str, parameters: dict[str, int], planes: int
) -> None:
    config = ReferenceConfig(
        planes_per_die=planes,
        blocks_per_plane={1: 64, 2: 40}[planes],
        pages_per_block=8,
        placement="dogi",
        parameters=parameters,
        threshold_blocks=2,
        timing=timing,
        read_ns=1,
        program_ns=3,
        erase_ns=10,
        logical_pages=1,
        seed=5,
    )
    pages = config.planes * config.pages_per_plane
    config = replace(config, logical_pages=int(0.55 * pages))
    sim, reference = run_both(config, "expired", skewed(5 * pages, config.logical_pages), [], None)
    assert_same(sim, reference)
    assert_same_memory(sim, reference)
    rule: Any = reference.device.rule
    assert rule.memory.trained >= 3
    assert rule.memory.configured == 1
    assert rule.memory.top > 1
    assert rule.memory.target.any()
    assert not rule.memory.hidden.any(), "asking for a stream changes nothing"


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
    memory = view_arrays(parts.arrays, 0, parts.policy.placement.memory, "place").memory[0]
    assert memory.trained > 0
