"""A placement played through `Placement-v0` leaves the device that it leaves compiled, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.envs import PlacementEnv, PlacementVectorEnv
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences
from tests.envs.vector.compare import row

WORKLOAD = {
    "kind": "zipf",
    "theta": 0.9,
    "read_fraction": 0.2,
    "trim_fraction": 0.02,
    "request_pages": 2,
    "interarrival_ns": 900.0,
}
HORIZON, WARMUP, SEED = 700, 150, 11
VICTIMS = "cost_benefit(since_close=1)"
#: What a device notes of the questions it is asked outside; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject", "control.request_stream", "slot.stream"}


def spacious(timing: str, placement: str, **ftl: Any) -> DeviceConfig:
    """A device with room for many streams."""
    geometry = {"blocks_per_plane": 40, "pages_per_block": 4, "planes_per_die": 2}
    return device(geometry, {"timing": timing, "placement": placement, **ftl}, over_provisioning=1.0)


def arguments(timing: str = "none", placement: str = "sep_gc", **changes: Any) -> dict[str, Any]:
    return {
        "device": spacious(timing, placement),
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "warmup": WARMUP,
        "streams": None,
        "victims": VICTIMS,
        "reward": "plain",
        **changes,
    }


def played(proposer: int = 0, **options: Any) -> PlacementEnv:
    env = PlacementEnv(**options)
    _, info = env.reset(seed=SEED)
    over = False
    while not over:
        _, _, _, over, info = env.step(info["proposed"][proposer])
    return env


def compiled(model: DeviceConfig, victims: str = VICTIMS) -> Simulator:
    """The run of the policies that play `model` in an environment."""
    sim = Simulator(model, policy=victims, seed=SEED)
    sim.precondition(WORKLOAD)
    sim.run(WORKLOAD, host_pages=HORIZON, warmup=WARMUP, seed=SEED)
    assert sim.metrics()["relocated_pages"] > 50
    return sim


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["single", "sep_gc", "hot_cold", "sepbit", "dac", "mida_hot"])
def test_own_placement__compiled_and_played__the_same_device(timing: str, placement: str) -> None:
    env = played(**arguments(timing, placement))
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("changes", [{"pages": "host"}, {"pages": "relocated"}, {"streams": 7}], ids=str)
def test_some_pages_or_more_streams__compiled_and_played__the_same_device(
    timing: str, changes: dict[str, Any]
) -> None:
    env = played(**arguments(timing, "sepbit", proposers=["dac", "sep_gc"], **changes))
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED


def test_dynamic_allocation__compiled_and_played__the_same_device() -> None:
    env = played(**arguments(device=spacious("event", "sepbit", allocation="dynamic")))
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("per", ["page", "request"])
def test_write_buffer__compiled_and_played__the_same_device(per: str, timing: str) -> None:
    model = spacious(timing, "sep_gc", write_buffer_pages=12)
    env = played(**arguments(device=model, per=per))
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED


@pytest.mark.parametrize("timing", ["none", "event"])
def test_host_pages_to_the_streams_of_the_placement__the_device_of_the_plain_run(timing: str) -> None:
    env = played(**arguments(timing, "dac", pages="host"))
    plain = Simulator(spacious(timing, "dac"), policy=VICTIMS)
    assert env.episodes.devices[0].ftl.streams == plain.device.ftl.streams
    for name in ("low_free", "low_pool", "stop_free", "stop_pool", "valid_limit"):
        assert env.episodes.state.params[name] == plain.state.params[name], name


@pytest.mark.parametrize("timing", ["none", "event"])
def test_vector__every_environment_is_the_single_one__infos_included(timing: str) -> None:
    options = arguments(timing, "sepbit", proposers=["dac"], warmup=0)
    vector, single = PlacementVectorEnv(3, **options), PlacementEnv(**options)
    seen, infos = vector.reset(seed=[SEED + 5, SEED, SEED + 9])
    alone, info = single.reset(seed=SEED)
    rng = np.random.default_rng(0)
    for _ in range(600):
        for name, array in alone.items():
            np.testing.assert_array_equal(seen[name][1], array)
        assert row(infos, 1)["host_pages_written"] == info["host_pages_written"]
        np.testing.assert_array_equal(infos["proposed"][1], info["proposed"])
        actions = rng.integers(0, vector.single_action_space.n, 3)
        seen, rewards, _, _, infos = vector.step(actions)
        alone, reward, _, over, info = single.step(actions[1])
        assert reward == rewards[1] and not over
    assert differences(vector.episodes.state, 1, single.episodes.state, 0) == []


def test_observe__as_often_as_one_likes__changes_nothing() -> None:
    env = PlacementEnv(**arguments("none", "sepbit", proposers=["dac"]))
    env.reset(seed=SEED)
    for _ in range(30):
        before = [array.copy() for array in (*env.episodes.state, *env.episodes.view)]
        env.episodes.observe_again()
        for old, new in zip(before, (*env.episodes.state, *env.episodes.view), strict=True):
            np.testing.assert_array_equal(old, new)
        env.step(0)


def proposals(steps: int, **options: Any) -> np.ndarray:
    """What the proposers say while the device's own placement is played, (steps, proposers)."""
    env = PlacementEnv(**options)
    _, info = env.reset(seed=SEED)
    said = []
    for _ in range(steps):
        said.append(info["proposed"])
        info = env.step(info["proposed"][0])[4]
    return np.array(said)


def test_proposers__keep_their_records_side_by_side__as_each_would_alone() -> None:
    options = arguments("none", "sepbit", streams=6)
    together = proposals(800, **options, proposers=["dac", "sepbit", "mida"])
    assert np.array_equal(together[:, 0], together[:, 2]), "the placement, and the same rule as a tracker"
    for column, name in ((1, "dac"), (3, "mida")):
        alone = proposals(800, **options, proposers=[name])
        assert np.array_equal(together[:, column], alone[:, 1])
    assert len({tuple(column) for column in together.T}) == 3, "they do not all say the same"


@pytest.mark.parametrize("timing", ["none", "event"])
def test_by_request__one_decision_for_all_its_pages(timing: str) -> None:
    options = arguments(timing, "sep_gc", pages="host", warmup=0, streams=3)
    asked = {}
    for per in ("page", "request"):
        env = PlacementEnv(**options, per=per)
        env.reset(seed=SEED)
        rng, over, asked[per] = np.random.default_rng(0), False, 0
        while not over:
            over = env.step(rng.integers(3))[3]
            asked[per] += 1
        assert env.metrics()["lost_pages"] == 0
    assert asked["page"] == HORIZON
    assert asked["request"] == HORIZON // 2


def test_by_request__played_by_a_rule_of_requests__the_same_device() -> None:
    env = played(**arguments("event", "sep_gc", per="request"))
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED
