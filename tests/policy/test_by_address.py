"""Placements by address, memory and hooks: what a rule keeps, and what it is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.view import view_arrays
from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import (
    MAX_STREAMS,
    available_rules,
    choose_block,
    device_for,
    get_policy,
    most_invalid_block,
    placement_policy,
    victim_policy,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences, mixed_requests, random_writes

TIMINGS = ["none", "event"]


def roomy(timing: str = "none", **fields: Any) -> DeviceConfig:
    """Return a device with room for the open blocks of six streams."""
    return device({"blocks_per_plane": 64}, {"timing": timing}, **fields)


def two_streams(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Do as sep_gc does."""
    return 0 if source < 0 else 1


@pytest.mark.parametrize("timing", TIMINGS)
def test_two_streams_by_address__do_what_sep_gc_does(timing: str) -> None:
    placement_policy("two_streams", source="a test", streams=2, relocation_streams=1)(two_streams)
    sims = [Simulator(roomy(timing), policy=f"greedy+{name}") for name in ("two_streams", "sep_gc")]
    for sim in sims:
        sim.run(mixed_requests(6000, sim.logical_pages))
    rates = [sim.metrics()["write_amplification"] for sim in sims]
    assert rates[0] == rates[1] > 1.1
    # Pages moved one by one leave a note of where a round was.
    # Rules see the request of a page, which is noted for them.
    scratch = {
        "control.attached",
        "params.placement",
        "plane.round_pair",
        "control.request_lpn",
        "control.request_pages",
    }
    assert set(differences(sims[0].state, 0, sims[1].state, 0)) <= scratch


def counting(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Put all pages into one stream."""
    return 0


EVENTS = (
    *("written", "relocated", "trimmed", "opened", "closed", "collected", "erased"),
    *("invalidated", "recycled", "scattered", "attached"),
)


def register_counting() -> None:
    """Register a placement that counts every event of every page and block."""
    rule = placement_policy(
        "counting",
        source="a test",
        streams=1,
        relocation_streams=1,
        page=[("moves", "i4")],
        block=[("openings", "i2")],
        stream=[("closed", "i8")],
        memory=[*((event, "i8") for event in EVENTS), ("overwritten", "i8")],
    )(counting)

    @rule.on("written")
    def written(view, plane, lpn, old_page, page, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].written += 1
        view.memory[0].overwritten += old_page >= 0

    @rule.on("invalidated")
    def invalidated(view, plane, lpn, old_page, page, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].invalidated += 1

    @rule.on("relocated")
    def relocated(view, plane, lpn, old_page, page, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].relocated += 1
        view.page_memory[lpn].moves += 1

    @rule.on("trimmed")
    def trimmed(view, plane, lpn, old_page, page, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].trimmed += 1

    @rule.on("opened")
    def opened(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].opened += 1
        view.block_memory[block].openings += 1

    @rule.on("closed")
    def closed(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].closed += 1
        view.stream_memory[plane].closed += 1

    @rule.on("collected")
    def collected(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].collected += 1

    @rule.on("erased")
    def erased(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].erased += 1

    @rule.on("recycled")
    def recycled(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].recycled += 1

    @rule.on("scattered")
    def scattered(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].scattered += 1

    @rule.on("attached")
    def attached(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].attached += 1


@pytest.mark.parametrize("timing", TIMINGS)
def test_hooks__are_called_once_for_everything_that_happens(timing: str) -> None:
    register_counting()
    sim = Simulator(roomy(timing), policy="greedy+counting")
    metrics = sim.run(mixed_requests(6000, sim.logical_pages))
    view = view_arrays(sim.state, 0, available_rules("placement")["counting"].memory, "place")
    told = view.memory[0]
    assert told.written == metrics["host_pages_written"]
    assert told.relocated == metrics["relocated_pages"] > 100
    assert told.collected == told.erased == told.recycled == metrics["erases"]
    assert told.invalidated == told.overwritten + told.trimmed > told.trimmed
    assert told.attached == sim.device.geometry.planes and told.scattered == 0
    assert 0 < told.trimmed <= metrics["host_pages_trimmed"]
    assert told.opened - told.closed in (0, 1, 2)
    assert view.page_memory.moves[: sim.logical_pages].sum() == told.relocated
    assert view.block_memory.openings[:128].sum() == told.opened
    assert view.stream_memory.closed[:2].sum() == told.closed
    assert metrics["policy_memory_bytes"] >= 4 * sim.logical_pages + 2 * 128 + 8 * 2 + 8 * len(EVENTS)


def test_memory__is_part_of_snapshots() -> None:
    register_counting()
    sim = Simulator(roomy(), policy="greedy+counting")
    requests = mixed_requests(3000, sim.logical_pages)
    sim.run(requests[:2000])
    saved = sim.snapshot()
    sim.run(requests[2000:])
    after = [array.copy() for array in sim.state]
    sim.restore(saved)
    sim.run(requests[2000:])
    for name, array, again in zip(sim.state._fields, after, sim.state, strict=True):
        assert np.array_equal(array, again) or name == "latency", name


def test_victim_rule__with_memory_and_a_hook__beside_that_of_a_placement() -> None:
    """Each rule finds its own records: the victim rule's come first."""
    register_counting()

    def least_erased(view, plane, parameters, choice):  # type: ignore[no-untyped-def]
        return choose_block(view, choice, most_invalid_block(view, plane))

    rule = victim_policy("least_erased", source="a test", memory=[("erases", "i8")])(least_erased)

    @rule.on("erased")
    def erased(view, plane, block, parameters):  # type: ignore[no-untyped-def]
        view.memory[0].erases += 1

    sim = Simulator(roomy(), policy="least_erased+counting")
    metrics = sim.run(random_writes(6000, sim.logical_pages))
    own = view_arrays(sim.state, 0, get_policy("least_erased").victim.memory)
    other = view_arrays(sim.state, 0, available_rules("placement")["counting"].memory, "place")
    assert own.memory[0].erases == other.memory[0].erased == metrics["erases"] > 50


def test_victim_rule__shares_the_memory_of_a_placement() -> None:
    register_counting()

    def watching(view, plane, parameters, choice):  # type: ignore[no-untyped-def]
        if view.memory[0].written == 0:
            return 0
        return choose_block(view, choice, most_invalid_block(view, plane))

    victim_policy("watching", source="a test", shares_memory_with="counting")(watching)
    sim = Simulator(roomy(), policy="watching+counting")
    assert sim.run(random_writes(6000, sim.logical_pages))["erases"] > 50
    with pytest.raises(SsdgymError) as caught:
        Simulator(roomy(), policy="watching+sep_gc")
    assert str(caught.value) == (
        "policy watching uses the memory of the placement counting and cannot run with sep_gc; write "
        "watching+counting."
    )


def test_placement__several_relocation_streams__keeps_three_free_blocks_whatever_their_number() -> None:
    sim = Simulator(roomy(), policy="greedy+sepbit")
    ftl = sim.device.ftl
    assert ftl.placement == "sepbit(nc=16)"
    assert (sim.state.params["streams"][0, 0], sim.state.params["overflows"][0, 0]) == (6, 1)
    assert sim.state.params["low_pool"][0, 0] == sim.state.params["floor_pool"][0, 0] == 3 * 8
    with pytest.raises(SsdgymError, match="with the threshold and 6 open blocks it has room for"):
        Simulator(device(), policy="greedy+sepbit")


def test_placement__of_the_device__under_any_policy() -> None:
    own = roomy().model_copy(update={"ftl": roomy().ftl.model_copy(update={"placement": "sepbit"})})
    for policy in ("cost_benefit", None):
        adapted = device_for(own, None, policy)
        assert adapted.ftl.placement == "sepbit(nc=16)"
        assert device_for(adapted, None, policy) is adapted
    assert device_for(adapted, {"placement": "sep_gc"}) == device_for(roomy(), {"placement": "sep_gc"})
    sims = [Simulator(roomy(), policy="greedy+sepbit"), Simulator(own, policy="greedy")]
    for sim in sims:
        sim.run(random_writes(4000, sim.logical_pages))
    assert differences(sims[0].state, 0, sims[1].state, 0) == []


def test_placement__names_a_stream_there_is_not__is_an_error() -> None:
    def wild(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
        return 2

    placement_policy("wild", source="a test", streams=2, relocation_streams=1)(wild)
    sim = Simulator(roomy(), policy="greedy+wild")
    with pytest.raises(SsdgymError, match=r"the placement wild named neither a stream of the device"):
        sim.run(random_writes(10, sim.logical_pages))


@pytest.mark.parametrize("targets", [False, True])
def test_placement__names_a_sub_block_there_is_not__is_an_error(targets: bool) -> None:
    """One past the last, or any without `targets`: the sentence says what may be named."""

    def astray(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
        return MAX_STREAMS + view.params[0].blocks * view.params[0].planes

    placement_policy("astray", source="a test", relocated_to=0, targets=targets)(astray)
    sim = Simulator(roomy(), policy="greedy+astray")
    with pytest.raises(
        SsdgymError, match="nor a sub-block .* register a placement that names sub-blocks with targets=True"
    ):
        sim.run(random_writes(10, sim.logical_pages))


@pytest.mark.parametrize(("streams", "relocation_streams"), [(0, 0), (2, 0), (2, 3), (17, 1)])
def test_decorator__impossible_streams__refused(streams: int, relocation_streams: int) -> None:
    with pytest.raises(SsdgymError, match="at least 1 of these and at most"):
        placement_policy("p", source="a test", streams=streams, relocation_streams=relocation_streams)(
            lambda view, plane, lpn, source, parameters: 0
        )


def test_hook__of_no_event_or_in_plain_python__refused() -> None:
    rule = placement_policy("p", source="a test", streams=1, relocation_streams=1)(counting)
    with pytest.raises(SsdgymError, match="policy p can have no hook of openned; did you mean opened"):
        rule.on("openned")
    plain = victim_policy("v", source="a test", compiled=False)(lambda view, plane, parameters, choice: 0)
    with pytest.raises(SsdgymError, match="policy v is plain Python and can have no hook of erased; leave"):
        plain.on("erased")


def test_environment__places_by_the_rule_of_its_devices() -> None:
    env = EraseVictimEnv(device=roomy(), ftl={"placement": "sepbit"}, workload="zipf99", horizon=2000)
    sim = Simulator(roomy(), policy="greedy+sepbit")
    _, info = env.reset(seed=5)
    assert env.episodes.devices == [sim.device]
    for _ in range(5):
        *_, info = env.step(info["proposed"][0])
    assert set(env.episodes.state.block["stream"].ravel()) > {0, 1, 2}


def test_environment__of_several_placements__each_by_its_rule() -> None:
    devices = [device_for(roomy(), {"placement": name}) for name in ("sepbit", "sep_gc", "single")]
    env = EraseVictimVectorEnv(3, device=devices, workload="zipf99", horizon=2000)
    alone = EraseVictimVectorEnv(1, device=devices[:1], workload="zipf99", horizon=2000)
    _, info = env.reset(seed=[3, 4, 5])
    _, own = alone.reset(seed=[3])
    for _ in range(5):
        assert (info["proposed"][0] == own["proposed"][0]).all()
        *_, info = env.step(info["proposed"][:, 0])
        *_, own = alone.step(own["proposed"][:, 0])


def test_environment__proposer_with_memory__refused() -> None:
    victim_policy("mindful", source="a test", memory=[("x", "i8")])(two_streams)
    with pytest.raises(SsdgymError, match="proposers name mindful, whose victim rule keeps memory"):
        EraseVictimEnv(device=roomy(), proposers=["mindful"])


def test_source_digest__depends_on_the_code_of_the_placement() -> None:
    greedy = get_policy("greedy")
    devices = [device_for(roomy(), {"placement": name}) for name in ("sepbit", "sep_gc")]
    assert len({greedy.placed_on(config).source_digest() for config in devices}) == 2
