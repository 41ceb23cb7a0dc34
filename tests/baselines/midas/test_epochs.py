"""Epochs: when they begin and end, what becomes of them, and on which devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.baselines.midas import epochs
from ssdgym.baselines.midas.epochs import APPLIED, HOT_GROUP_IMPURE, NOT_BETTER, OUTCOMES
from ssdgym.policy import get_policy
from ssdgym.simulator import Simulator
from tests.baselines.midas.test_chain import filled, view_of
from tests.engine.devices import device, random_writes, same_as, writes

BLOCKS, PAGES, LOGICAL = 96, 16, 1100
GEOMETRY = {"channels": 1, "blocks_per_plane": BLOCKS, "pages_per_block": PAGES}
EPOCH = 4 * BLOCKS * PAGES


def simulator(policy: str = "midas", **options: Any) -> Simulator:
    return Simulator(device(GEOMETRY, logical_pages=LOGICAL), policy=policy, **options)


def zipf_writes(count: int, seed: int = 1) -> np.ndarray:
    weights = 1 / np.arange(1, LOGICAL + 1) ** 1.1
    return writes(np.random.default_rng(seed).choice(LOGICAL, count, p=weights / weights.sum()))


def memory_of(sim: Simulator) -> Any:
    return view_of(sim).memory[0]


def test_epochs__begin_after_the_device_is_full_and_written_once_more() -> None:
    sim = simulator()
    sim.run(writes(range(LOGICAL)))
    sim.run(zipf_writes(LOGICAL - 1))
    assert memory_of(sim).epoch == 0
    sim.run(zipf_writes(1))
    sim.run(zipf_writes(EPOCH - 1))
    assert (memory_of(sim).epoch, memory_of(sim).epoch_start) == (1, 2 * LOGICAL)
    sim.run(zipf_writes(1))
    assert (memory_of(sim).epoch, memory_of(sim).epoch_start) == (2, 2 * LOGICAL + EPOCH)


def test_epochs__on_a_skewed_workload__apply_configurations_that_measure_up() -> None:
    sim = simulator()
    sim.fill()
    sim.run(zipf_writes(LOGICAL + 3 * EPOCH))
    memory = memory_of(sim)
    assert OUTCOMES[memory.outcome] == "the configuration was applied"
    assert memory.applied == 3
    sim.run(zipf_writes(EPOCH // 4))
    memory = memory_of(sim)
    assert 1 < memory.predicted_amplification <= memory.measured_amplification
    ratios = memory.valid[1 : memory.last + 1] / memory.victims[1 : memory.last + 1]
    assert ratios[:-1] == pytest.approx(memory.predicted_valid[1 : memory.last], abs=0.1)
    sealed = view_of(sim).stream_memory.sealed
    assert all(abs(sealed[g] - memory.limit[g]) <= 1 for g in range(memory.last)), "groups have their sizes"


def test_epochs__on_a_uniform_workload__double_and_apply_nothing() -> None:
    sim = simulator()
    sim.fill()
    sim.run(random_writes(LOGICAL + 3 * EPOCH, LOGICAL, seed=4))
    memory = memory_of(sim)
    assert memory.outcome == HOT_GROUP_IMPURE
    assert memory.applied == 0
    assert (memory.last, memory.top) == (1, 4)
    assert memory.epoch_pages == 4 * EPOCH
    assert memory.unit == 4 * PAGES // 4, "as many bins, wider ones"


def test_epochs__longest__are_not_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "LONGEST", EPOCH)
    sim = simulator()
    sim.fill()
    sim.run(random_writes(LOGICAL + EPOCH, LOGICAL, seed=4))
    assert (memory_of(sim).outcome, memory_of(sim).epoch_pages) == (HOT_GROUP_IMPURE, EPOCH)


def test_configuration__that_predicts_more_than_was_measured__is_refused() -> None:
    sim = simulator()
    sim.fill()
    sim.run(zipf_writes(LOGICAL + EPOCH - 1))
    # As if hardly a page had been moved.
    memory_of(sim).moved_before = memory_of(sim).moved
    sim.run(zipf_writes(1))
    memory = memory_of(sim)
    assert (memory.outcome, memory.applied, memory.last) == (NOT_BETTER, 0, 1)
    assert memory.predicted_amplification > memory.measured_amplification == 1.0


@pytest.mark.parametrize(
    ("group", "irregular"), [(1, 1), (2, 1), (3, 0)], ids=["before the middle", "the middle", "behind it"]
)
def test_chain_of_three_groups__irregular_up_to_its_middle(group: int, irregular: int) -> None:
    view = view_of(filled(2, 3, 3))
    memory = view.memory[0]
    memory.configured, memory.victims[group], memory.valid[group] = 3, 1, epochs.IRREGULAR
    epochs._check(view, clock=50)
    assert (memory.last, memory.irregular) == (group, irregular)


@pytest.mark.parametrize(
    ("irregular", "factor"),
    [((1, 1), 2), ((1, 0, 1), 1), ((1, 0, 1, 1), 2), ((1,), 1)],
    ids=["twice in a row", "twice, not in a row", "in a row after another", "once"],
)
def test_epochs__irregular_twice_in_a_row__are_doubled(
    irregular: tuple[int, ...], factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = simulator()
    sim.fill()
    sim.run(zipf_writes(LOGICAL + 10))
    monkeypatch.setattr(epochs, "_configure", lambda view: APPLIED)
    view = view_of(sim)
    for number, wrong in enumerate(irregular, 1):
        view.memory[0].irregular = wrong
        epochs._end_epoch(view, 2 * LOGICAL + number * EPOCH)
    assert view.memory[0].epoch_pages == factor * EPOCH


@pytest.mark.parametrize("other", ["greedy+single", "greedy+sepbit"])
def test_device_that_was_used_with_another_policy__is_taken_as_it_is(other: str) -> None:
    """Closed blocks are G1's, whatever streams they were written for; the first epoch comes sooner."""
    config = get_policy("midas").adapt(device(GEOMETRY, logical_pages=LOGICAL))
    used = Simulator(config, policy="greedy+midas")
    used.run(writes(range(LOGICAL)))
    used.run(zipf_writes(2 * LOGICAL))
    for name in ("page_memory", "block_memory", "stream_memory", "memory"):
        getattr(used.arrays, name)[:] = 0
    used.arrays.control["period_at"] = 0
    begin = int(used.state.control["clock"][0, 0])
    used.run(zipf_writes(1))
    view = view_of(used)
    listed = view.block_memory.listed != 0
    assert np.all(view.block_memory.group[listed] == 1)
    assert listed.sum() == np.count_nonzero(used.state.block[0]["status"] & 2)
    used.run(zipf_writes(LOGICAL + EPOCH))
    memory = memory_of(used)
    assert (memory.epoch, memory.epoch_start) == (2, begin + LOGICAL + EPOCH)
    assert memory.outcome == APPLIED
    assert used.metrics()["lost_pages"] == 0


def test_checked_and_trusted__do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    sims = [simulator(), simulator()]
    for sim, checked in zip(sims, "01", strict=True):
        monkeypatch.setenv("SSDGYM_CHECKED", checked)
        sim.fill()
        sim.run(zipf_writes(LOGICAL + 2 * EPOCH))
    assert memory_of(sims[0]).applied == 2
    assert same_as(sims[0], sims[1])


def test_snapshot__holds_groups_and_epoch() -> None:
    sim = simulator()
    sim.fill()
    sim.run(zipf_writes(LOGICAL + EPOCH + EPOCH // 2))
    saved = sim.snapshot()
    sim.run(zipf_writes(EPOCH, seed=2))
    assert memory_of(sim).applied == 2
    first = (memory_of(sim).tobytes(), sim.metrics())
    sim.restore(saved)
    sim.run(zipf_writes(EPOCH, seed=2))
    assert (memory_of(sim).tobytes(), sim.metrics()) == first


def test_loop_of_few_pages__what_the_model_gets_wrong_is_taken_back() -> None:
    """Half of the writes are hot or warm pages, the others come in the order of the loop."""
    blocks, pages, logical = 160, 16, 2124
    rng = np.random.default_rng(1)
    kind = rng.random(3 * blocks * pages)
    lpns = np.where(kind < 0.4, rng.integers(0, 29, len(kind)), 29 + rng.integers(0, logical // 5, len(kind)))
    cold = np.flatnonzero(kind >= 0.5)
    lpns[cold] = (np.arange(len(cold)) + 29) % logical
    found = {}
    for policy in ("midas", "cost_benefit(exponent=0.5, since_close=1)+mida_hot"):
        geometry = {**GEOMETRY, "blocks_per_plane": blocks, "pages_per_block": pages}
        sim = Simulator(device(geometry, {"gc": {"free_blocks": 4}}, logical_pages=logical), policy=policy)
        sim.fill()
        sim.run(writes(np.resize(lpns, 20 * logical)))
        before = sim.metrics()
        sim.run(writes(np.resize(lpns, 40 * logical)[20 * logical :]))
        moved = sim.metrics()["relocated_pages"] - before["relocated_pages"]
        found[policy] = 1 + moved / (20 * logical)
        if policy == "midas":
            assert memory_of(sim).applied > 0
    assert found["midas"] == pytest.approx(min(found.values()), rel=0.05)
