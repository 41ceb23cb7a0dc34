"""A snapshot is a copy of the arrays: going back to it, in place or elsewhere, continues the same run."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest

from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from tests.engine.devices import POLICIES, differences, full_device, mixed_requests, random_writes, same_as

DEVICE = {"geometry": {"planes_per_die": 2}}


def half_way(policy: str, timing: str) -> Simulator:
    """A device stopped in the middle of its input."""
    sim = Simulator(full_device(**DEVICE, ftl={"timing": timing}), policy=policy, seed=5)
    sim.feed(mixed_requests(1200, sim.logical_pages))
    sim.set_horizon(700)
    sim.advance()
    assert sim.metrics()["gc_invocations"] > 0
    return sim


def go_on(sim: Simulator) -> Simulator:
    sim.set_horizon(None)
    sim.advance()
    return sim


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("policy", POLICIES)
def test_restore__in_place_or_elsewhere__the_same_end(policy: str, timing: str) -> None:
    sim = half_way(policy, timing)
    snapshot = pickle.loads(pickle.dumps(sim.snapshot()))
    end = go_on(sim).snapshot().state
    sim.restore(snapshot)
    assert differences(go_on(sim).state, 0, end, 0) == []
    other = Simulator(sim.device, policy=policy)
    other.restore(snapshot)
    assert differences(go_on(other).state, 0, end, 0) == []
    assert same_as(other, sim)


def test_snapshot__is_independent_of_the_device() -> None:
    sim = half_way("greedy", "event")
    saved = sim.snapshot()
    before = [array.tobytes() for array in saved.state]
    go_on(sim)
    assert [array.tobytes() for array in saved.state] == before
    assert differences(sim.state, 0, saved.state, 0) != []


@pytest.mark.parametrize("timing", ["none", "event"])
def test_snapshot__at_a_decision__which_another_simulator_takes(timing: str) -> None:
    """The decision waits in the state; the simulator that restores it takes it by its own policy."""
    config = full_device(ftl={"timing": timing})
    requests = random_writes(600, config.logical_pages)
    plain = Simulator(config, policy="greedy")
    plain.run(requests)
    asking = Simulator(config, policy=None)
    asking.feed(requests)
    assert asking.advance() == ERASE_DECISION
    helper = Simulator(config, policy="greedy")
    helper.restore(asking.snapshot())
    helper.proceed(iter(()))
    assert differences(helper.state, 0, plain.state, 0) == []


def test_same_as__any_value__matters() -> None:
    sim = half_way("greedy", "none")
    other = Simulator(sim.device)
    other.restore(sim.snapshot())
    assert same_as(other, sim)
    other.arrays.block[0, 3]["closed_at"] += 1
    assert not same_as(other, sim)
    assert not same_as(Simulator(full_device()), sim)


def finish_elsewhere(snapshot: object, policy: str, connection: object) -> None:
    """Continue a snapshot in this process and send the end back."""
    sim = Simulator(full_device(**DEVICE, ftl={"timing": "event"}), policy=policy)
    sim.restore(snapshot)  # type: ignore[arg-type]
    connection.send(go_on(sim).snapshot().state)  # type: ignore[attr-defined]


def test_restore__in_a_spawned_process__the_same_end() -> None:
    sim = half_way("random", "event")
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=finish_elsewhere, args=(sim.snapshot(), "random", there))
    worker.start()
    assert here.poll(120), "the worker has not answered"
    end = here.recv()
    worker.join()
    assert differences(go_on(sim).state, 0, end, 0) == []


def test_rule_memory__of_one_device__given_to_another(tmp_path: Path) -> None:
    def device() -> Simulator:
        sim = Simulator("demo-placement", policy="greedy+td_lifetime", ftl={"timing": "none"})
        sim.fill()
        return sim

    learned, new, other = device(), device(), device()
    learned.run("zipf99", host_pages=3 * learned.logical_pages)
    assert np.count_nonzero(learned.rule_memory()["weight"]) > np.count_nonzero(new.rule_memory()["weight"])
    np.save(tmp_path / "learned.npy", learned.rule_memory())
    for name in ("weight", "visits"):
        new.rule_memory()[name] = np.load(tmp_path / "learned.npy")[name]
    assert not same_as(new, other)
    assert new.run("zipf99", host_pages=2000, seed=3) != other.run("zipf99", host_pages=2000, seed=3)


@pytest.mark.parametrize(
    ("policy", "kind"), [("greedy", "placement"), ("greedy+td_lifetime", "victim"), (None, "idle")]
)
def test_rule_memory__of_a_rule_without__refused(policy: str | None, kind: str) -> None:
    sim = Simulator("demo-placement", policy=policy, ftl={"timing": "none"})
    with pytest.raises(SsdgymError, match=f"has no rule '{kind}' that declares a memory"):
        sim.rule_memory(kind)
