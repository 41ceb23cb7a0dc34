"""Nothing that is handed in, or handed out, can end the process or hang it."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import load_device
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.requests import REQUEST
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import Snapshot
from tests.engine.devices import device, differences, random_writes, same_as

TIMINGS = ["none", "event"]


def used(timing: str = "none", **options: Any) -> Simulator:
    """Return a simulator in the middle of its work."""
    sim = Simulator(device(ftl={"timing": timing}), recording=Recording(100, 10), **options)
    sim.run(random_writes(900, sim.logical_pages))
    return sim


@pytest.mark.parametrize("timing", TIMINGS)
def test_requests_changed_after_they_were_handed_in__are_played_as_they_were(timing: str) -> None:
    sims = [used(timing), used(timing)]
    requests = random_writes(500, sims[0].logical_pages, seed=3)
    sims[0].feed(requests)
    sims[1].feed(requests.copy())
    requests["lpn"], requests["pages"], requests["op"] = 2**31 - 1, 2**31 - 1, 200
    for sim in sims:
        sim.advance()
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


@pytest.mark.parametrize("kind", ["read-only", "of a file", "every second", "backwards", "big-endian"])
def test_requests_of_any_layout__are_played_without_a_compile(kind: str, tmp_path: Path) -> None:
    sims = [used(), used()]
    plain = random_writes(600, sims[0].logical_pages, seed=3)
    given = plain.copy()
    if kind == "read-only":
        given.flags.writeable = False
    elif kind == "of a file":
        np.save(tmp_path / "requests.npy", plain)
        given = np.load(tmp_path / "requests.npy", mmap_mode="r")
    elif kind == "every second":
        given = np.repeat(plain, 2)[::2]
    elif kind == "backwards":
        given = plain[::-1].copy()[::-1]
    else:
        with pytest.raises(SsdgymError, match="must be a one-dimensional array of ssdgym"):
            sims[0].feed(plain.astype(REQUEST.newbyteorder(">")))
        return
    sims[0].run(given)
    sims[1].run(plain)
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


@pytest.mark.parametrize("counts", [(-1, 10), (10, -1), (1.5, 1), (2**41, 1), (True, 1), ("5", 1)])
def test_recording__of_a_count_that_is_none__is_refused(counts: tuple[Any, Any]) -> None:
    with pytest.raises(SsdgymError, match=r"Recording: (latencies|slowest) must be a whole number from 0 to"):
        Recording(*counts)


def test_recording__of_nothing_and_of_numpy_counts__works() -> None:
    for recording in (Recording(0, 0), Recording(np.int64(5), np.uint8(5))):  # type: ignore[arg-type]
        sim = Simulator(device(ftl={"timing": "event"}), recording=recording)
        assert sim.run(random_writes(300, sim.logical_pages))["write_latency_ns"]["count"] == 300


def test_state__cannot_be_written_to() -> None:
    sim = used()
    for array in sim.state:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(ValueError, match="read-only"):
        sim.state.block["invalid"][0, 0] = 10**6
    with pytest.raises(AttributeError):
        sim.device = device()  # type: ignore[misc]


def first_of(array: np.ndarray) -> np.ndarray:
    """Return a view of some numbers of an array, the first field of a record."""
    return array if array.dtype.names is None else array[array.dtype.names[0]]


def damage_control(snapshot: Snapshot) -> None:
    snapshot.state.control["cursor"][0, 0] = 10**6


def damage_map(snapshot: Snapshot) -> None:
    first_of(snapshot.state.logical)[0, 0] = 10**8


def damage_requests(snapshot: Snapshot) -> None:
    snapshot.requests["lpn"][0] = 10**8


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("damage", [damage_control, damage_map, damage_requests])
@pytest.mark.parametrize("through", [lambda snapshot: snapshot, lambda s: pickle.loads(pickle.dumps(s))])
def test_snapshot_that_was_changed__is_refused(
    timing: str, damage: Callable[[Snapshot], None], through: Callable[[Snapshot], Snapshot]
) -> None:
    sim = used(timing)
    sim.feed(random_writes(50, sim.logical_pages))
    good, bad = sim.snapshot(), through(sim.snapshot())
    damage(bad)
    with pytest.raises(
        SsdgymError, match=r"the snapshot is damaged or has been changed; restore one that is as"
    ):
        sim.restore(through(bad))
    for kept in (good, copy.deepcopy(good), pickle.loads(pickle.dumps(good))):
        sim.restore(kept)
    sim.advance()
    assert sim.metrics()["lost_pages"] == 0


@pytest.mark.parametrize("given", [None, 5, (), (1, 2), "all"])
def test_restore__of_anything_else__is_refused(given: Any) -> None:
    sim = used()
    with pytest.raises(SsdgymError, match="the snapshot is damaged or has been changed"):
        sim.restore(given)
    snapshot = sim.snapshot()
    with pytest.raises(SsdgymError, match="the snapshot is damaged or has been changed"):
        sim.restore((snapshot.state, snapshot.requests))  # type: ignore[arg-type]


def test_simulator_in_two_threads__is_an_error_and_no_hang() -> None:
    sim = used()
    inside, done = threading.Event(), threading.Event()

    def slow() -> Iterator[np.ndarray]:
        inside.set()
        assert done.wait(30)
        yield random_writes(10, sim.logical_pages)

    thread = threading.Thread(target=lambda: sim.run(slow()))
    thread.start()
    assert inside.wait(30)
    calls: list[Callable[[], Any]] = [
        lambda: sim.run(random_writes(10, sim.logical_pages)),
        lambda: sim.feed(random_writes(10, sim.logical_pages)),
        sim.advance,
        lambda: sim.apply(0),
        sim.snapshot,
        sim.metrics,
        sim.reset_metrics,
        sim.fill,
    ]
    for call in calls:
        with pytest.raises(
            SsdgymError, match="this Simulator is in use by another thread; make one for each"
        ):
            call()
    done.set()
    thread.join(30)
    assert sim.run(random_writes(10, sim.logical_pages))["lost_pages"] == 0


def test_copies_and_pickles__do_not_hold_the_lock() -> None:
    sim = used()
    for again in (copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        assert same_as(again, sim)
        for each in (again, sim):
            saved = each.snapshot()
            each.run(random_writes(100, sim.logical_pages))
        assert same_as(again, sim)
        again.restore(saved)
        sim.restore(saved)


def test_copies_and_pickles__of_a_simulator_whose_state_was_read__show_their_own() -> None:
    sim = used()
    before = sim.state.control["clock"].copy()
    for again in (copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        again.run(random_writes(100, sim.logical_pages))
        assert again.state.control["clock"] > before
        assert sim.state.control["clock"] == before


def test_policy__replaced_by_one_that_runs_another_device__is_refused() -> None:
    sim = used()
    sim.policy = get_policy("cost_benefit")
    sim.run(random_writes(100, sim.logical_pages))
    with pytest.raises(
        SsdgymError, match=r"policy greedy\+hot_cold runs device \w+ another way; make a new Simulator"
    ):
        sim.policy = "greedy+hot_cold"


def test_numbers_of_numpy__are_numbers() -> None:
    sims = [Simulator(device(), seed=seed) for seed in (3, np.int64(3))]  # type: ignore[list-item]
    for sim, number in zip(sims, (int, np.int32), strict=True):
        sim.precondition(seed=number(5))
        sim.run("uniform", host_pages=number(100), warmup=number(50), seed=number(7))
    assert same_as(sims[0], sims[1])


@pytest.mark.parametrize("seed", [1.5, "3", None, True, -1, 2**64])
def test_seed_that_is_none__is_a_sentence(seed: Any) -> None:
    for call in (
        lambda: Simulator(device(), seed=seed),
        lambda: Simulator(device()).run("uniform", host_pages=10, seed=seed),
        lambda: Simulator(device()).precondition(seed=seed),
    ):
        with pytest.raises(SsdgymError, match="the seed of .* must be a whole number from 0 to"):
            call()


def test_times__too_long_for_benefits_to_be_compared__are_refused() -> None:
    """Cross-products of benefits have to fit 63 bits; shorter by a half they do."""
    described = {"base": "demo", "geometry.sub_blocks_per_block": 4, "erase_unit": "sub_block_run"}
    pages = load_device("demo").geometry.pages_per_block
    longest_ns = 2**61 // (2 * pages * pages)
    Simulator(load_device({**described, "timing.program_ns": longest_ns // 2}))
    with pytest.raises(SsdgymError, match="takes too long for benefits to be compared; shorten the times"):
        Simulator(load_device({**described, "timing.program_ns": longest_ns}))
