"""The audit finds nothing after any sequence of operations, and does find what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import INDEXED, POOLED
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.entries import count_lost
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import first_fault
from tests.engine.devices import POLICIES, full_device, mixed_requests, off_by, random_writes
from tests.engine.drawing import configs, request_lists
from tests.engine.oracle import NEEDS, device_config, request_array
from tests.engine.oracle import POLICIES as REFERENCE_POLICIES


def fault(state: State) -> str:
    return first_fault(state, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_device__audited_after_every_piece_of_its_input(data: st.DataObject) -> None:
    policy = data.draw(st.sampled_from(sorted(REFERENCE_POLICIES)))
    config = data.draw(configs(**NEEDS.get(policy, {})))
    sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=Recording(1, 1))
    for _ in range(4):
        requests = request_array(data.draw(request_lists(config.logical_pages, 60)))
        requests["arrival_ns"] += sim.now_ns
        sim.feed(requests)
        sim.advance(last=data.draw(st.booleans()))
        assert fault(sim.arrays) == "none"
    assert sim.metrics()["lost_pages"] == 0


@pytest.mark.parametrize("timing", ["none", "event"])
def test_runs_of_sub_blocks__audited_at_every_decision(timing: str) -> None:
    """Partly erased blocks are in pool and index at once, and become victims again."""
    config = full_device(
        {"sub_blocks_per_block": 4}, {"timing": timing, "gc": {"free_blocks": 2}}, erase_unit="sub_block_run"
    )
    sim = Simulator(config, policy=None)
    rng = np.random.default_rng(0)
    sim.feed(mixed_requests(1500, sim.logical_pages))
    partly_erased = 0
    while sim.advance() == ERASE_DECISION:
        assert fault(sim.arrays) == "none"
        both = INDEXED | POOLED
        partly_erased += bool(np.any(sim.state.block[0]["status"] & both == both))
        sim.apply(*_random_run(sim, rng))
    assert fault(sim.arrays) == "none"
    assert sim.metrics()["lost_pages"] == 0
    assert partly_erased > 100


def _random_run(sim: Simulator, rng: np.random.Generator) -> tuple[int, int]:
    """A legal run of sub-blocks of the plane that waits for a decision."""
    geometry = sim.device.geometry
    plane = int(sim.state.control["decision_plane"][0, 0])
    invalid = sim.state.sub_block[0]["invalid"].reshape(-1, geometry.sub_blocks_per_block)
    blocks = np.arange(plane * geometry.blocks_per_plane, (plane + 1) * geometry.blocks_per_plane)
    closed = blocks[sim.state.block[0]["status"][blocks] & INDEXED != 0]
    block = int(rng.choice(closed[invalid[closed].sum(axis=1) > 0]))
    first = int(rng.choice(np.flatnonzero(invalid[block])))
    last = int(rng.integers(first, geometry.sub_blocks_per_block))
    return block, (1 << (last + 1)) - (1 << first)


@pytest.fixture
def worn() -> Simulator:
    """A full device after many overwrites."""
    sim = Simulator(full_device())
    sim.fill()
    sim.run(random_writes(1000, sim.logical_pages))
    return sim


def _indexed(state: State) -> int:
    return int(np.flatnonzero(state.block[0]["status"] == INDEXED)[0])


def _unmap(state: State) -> None:
    state.logical[0, 5]["ppn"] = -1


def _unindexed(state: State) -> None:
    state.block[0, _indexed(state)]["status"] = 0


def _age_list(state: State) -> None:
    state.block[0, state.plane[0, 0]["age_head"]]["next_age"] = -1


def _bucket_list(state: State) -> None:
    state.plane[0, 0]["max_invalid"] = 0


def _quiet_list(state: State) -> None:
    heads = state.bucket[0]["quiet_head"]
    heads[np.flatnonzero(heads >= 0)[0]] = -1


def _pool_entry(state: State) -> None:
    state.block[0, state.plane[0, 0]["pool_head"]]["next_pool"] = _indexed(state)


def _open_full(state: State) -> None:
    """An empty block of the pool passes for the open one; all counts still add up."""
    before = int(state.open_sub_block[0, 0])
    if before >= 0:
        state.block[0, before]["written"] += state.sub_block[0, before]["written"]
    state.open_sub_block[0, 0] = state.plane[0, 0]["pool_head"]


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (off_by(+1, "plane", "free_pages"), "a plane's free pages are miscounted"),
        (off_by(-1, "plane", "pool_pages"), "a plane's pool pages are miscounted"),
        (off_by(+1, "plane", "valid"), "a plane's valid pages are miscounted"),
        (_unmap, "a sub-block's invalid pages are miscounted"),
        (off_by(+1, "block", "invalid", _indexed), "a block's pages are miscounted"),
        (_unindexed, "a block's status contradicts its pages"),
        (_age_list, "an age list is broken"),
        (_bucket_list, "a bucket is broken"),
        (_quiet_list, "blocks of a bucket are not listed by their last invalidation"),
        (_pool_entry, "a pool is broken"),
        (_open_full, "an open sub-block is full or its block is not marked open"),
    ],
)
def test_audit__damage__is_named(worn: Simulator, damage: Callable[[State], None], found: str) -> None:
    assert fault(worn.arrays) == "none"
    damage(worn.arrays)
    assert fault(worn.arrays) == found


@pytest.mark.parametrize("policy", POLICIES)
def test_lost_pages__data_that_is_not_the_newest__counted_when_read_or_audited(policy: str) -> None:
    sim = Simulator(full_device(), policy=policy)
    sim.fill()
    sim.run(random_writes(500, sim.logical_pages))
    assert count_lost(sim.arrays, 0) == 0
    sim.arrays.physical[0, sim.state.logical[0, 7]["ppn"]]["version"] -= 1
    assert count_lost(sim.arrays, 0) == 1
    read = random_writes(1, 1)
    read["lpn"], read["op"] = 7, 0
    sim.run(read)
    assert sim.metrics()["lost_pages"] == 2  # by the read, and by the audit of the whole map
