"""Functions for periods: plain Python of a placement, called between two steps of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import placement_policy, victim_policy
from ssdgym.simulator import Simulator
from tests.engine.devices import device, mixed_requests, random_writes, same_as

TIMINGS = ["none", "event"]


def by_turns(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Put pages of the host where the last period has said."""
    return 2 if source >= 0 else view.memory[0].turn


def register(name: str, period: Callable[..., Any] | None = None) -> None:
    """Register a placement that changes its stream in every period of 100 host pages."""
    rule = placement_policy(
        name,
        source="a test",
        streams=3,
        relocation_streams=1,
        block=[("seen", "i4", (2,))],
        memory=[("turn", "i8"), ("calls", "i8"), ("clocks", "i8", (64,)), ("written", "i8", (3,))],
    )(by_turns)

    @rule.on("written")
    def written(view, plane, lpn, old_page, page, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].written[view.memory[0].turn] += 1
        view.block_memory[page // view.params[0].pages_per_block].seen[1] += 1

    def change_turn(view: Any, parameters: Any) -> int:
        memory = view.memory[0]
        memory.clocks[memory.calls % 64] = view.control[0].clock
        memory.calls += 1
        memory.turn = memory.calls % 2
        return 100

    rule.on("period")(period or change_turn)


def memory_of(sim: Simulator) -> Any:
    """The record that the placement of a simulator keeps."""
    from ssdgym.engine.view import view_arrays
    from ssdgym.policy.on_device import beside_on

    rule = beside_on(sim.device)["placement"]
    return view_arrays(sim.arrays, 0, rule.memory, "place").memory[0]


def simulator(name: str, timing: str) -> Simulator:
    return Simulator(device({"blocks_per_plane": 64}, {"timing": timing}), policy=f"greedy+{name}")


@pytest.mark.parametrize("timing", TIMINGS)
def test_period__called_first_at_the_start__then_after_as_many_host_pages_as_it_returned(timing: str) -> None:
    register("turns")
    sim = simulator("turns", timing)
    sim.run(mixed_requests(3000, sim.logical_pages))
    memory, clock = memory_of(sim), int(sim.state.control["clock"][0, 0])
    assert memory.calls == 1 + clock // 100
    assert memory.clocks[: memory.calls].tolist() == list(range(0, clock + 1, 100))
    streams = sim.metrics()["streams"]
    host = [streams[str(k)]["host_pages_written"] for k in range(3)]
    assert host == memory.written.tolist()
    assert host[2] == 0
    assert min(host[:2]) > 0
    assert streams["2"]["relocated_pages"] == sim.metrics()["relocated_pages"]


@pytest.mark.parametrize("timing", TIMINGS)
def test_period__cut_into_pieces_and_restored__bit_for_bit_the_same(timing: str) -> None:
    register("turns")
    whole, parts = simulator("turns", timing), simulator("turns", timing)
    requests = mixed_requests(3000, whole.logical_pages)
    whole.feed(requests)
    whole.advance()
    parts.feed(requests)
    parts.set_horizon(450)
    parts.advance(last=False)
    saved = parts.snapshot()
    for _ in range(2):
        parts.restore(saved)
        parts.set_horizon(None)
        parts.advance()
    assert memory_of(parts).tolist()[1] == memory_of(whole).tolist()[1]
    if timing == "none":  # in time a horizon lets what is under way end first
        assert same_as(whole, parts)


def test_period__in_environments__as_in_a_simulator() -> None:
    register("turns")
    options: dict[str, Any] = {
        "device": device({"blocks_per_plane": 64}, {"timing": "none", "placement": "turns"}),
        "workload": "zipf99",
        "horizon": 2000,
        "proposers": ["greedy"],
    }
    env = EraseVictimEnv(**options)
    _, info = env.reset(seed=3)
    done, total = False, 0.0
    while not done:
        _, reward, _, done, info = env.step(int(info["proposed"][0]))
        total += float(reward)
    vector = EraseVictimVectorEnv(num_envs=3, autoreset_mode="SameStep", **options)
    _, infos = vector.reset(seed=[3, 4, 3])
    ended = np.zeros(3, bool)
    totals = np.zeros(3)
    while not ended.all():
        _, rewards, _, truncated, infos = vector.step(infos["proposed"][:, 0])
        totals += np.where(ended, 0.0, rewards)
        ended |= truncated
    assert info["metrics"]["streams"]["1"]["host_pages_written"] > 0
    assert totals[0] == totals[2] == total


@pytest.mark.parametrize("answer", [0, -3, 1.5, None, 2**62])
def test_period__that_does_not_say_when_it_is_due_next__an_error(answer: Any) -> None:
    register("silent", lambda view, parameters: answer)
    sim = simulator("silent", "none")
    with pytest.raises(SsdgymError, match="policy silent: its function for periods returned .* at least 1"):
        sim.run(random_writes(10, sim.logical_pages))


def test_period__that_fails__an_error_that_names_the_policy() -> None:
    def fail(view: Any, parameters: Any) -> int:
        view.params[0].seed = 1  # the device is not the rule's
        return 1

    register("writes_to_the_device", fail)
    sim = simulator("writes_to_the_device", "none")
    with pytest.raises(SsdgymError, match="writes_to_the_device"):
        sim.run(random_writes(10, sim.logical_pages))


def test_period__of_a_victim_rule__refused() -> None:
    rule = victim_policy("periodic", source="a test", memory=[("calls", "i8")])(lambda *arguments: 0)
    with pytest.raises(SsdgymError, match="policy periodic can have no hook of period; known: written"):
        rule.on("period")(lambda view, parameters: 1)
