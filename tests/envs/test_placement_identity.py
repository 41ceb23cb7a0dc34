"""A placement played through `Placement-v0` leaves the device that it leaves compiled, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.envs import PlacementEnv
from ssdgym.policy.on_device import streams_of
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences
from tests.envs.cases import MIXED, compiled_run, play, proposal, spacious

HORIZON, WARMUP, SEED = 700, 150, 11
VICTIMS = "cost_benefit(since_close=1)"
#: What a device notes of the questions it is asked outside; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject", "control.request_stream", "slot.stream"}


def arguments(timing: str = "none", placement: str = "sep_gc", **changes: Any) -> dict[str, Any]:
    return {
        "device": spacious(timing, placement, 2),
        "workload": MIXED,
        "horizon": HORIZON,
        "warmup": WARMUP,
        "streams": None,
        "victims": VICTIMS,
        "reward": "plain",
        **changes,
    }


def assert_same_device(options: dict[str, Any]) -> PlacementEnv:
    """Check that the device's own placement, played, leaves the device of the compiled run."""
    env = PlacementEnv(**options)
    play(env, SEED, proposal(0))
    sim = compiled_run(env.episodes.devices[0], VICTIMS, MIXED, SEED, HORIZON, WARMUP)
    assert sim.metrics()["relocated_pages"] > 50
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED
    return env


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["single", "sep_gc", "hot_cold", "sepbit", "dac", "mida_hot"])
def test_own_placement__compiled_and_played__the_same_device(timing: str, placement: str) -> None:
    assert_same_device(arguments(timing, placement))


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("changes", [{"pages": "host"}, {"pages": "relocated"}, {"streams": 7}], ids=str)
def test_some_pages_or_more_streams__compiled_and_played__the_same_device(
    timing: str, changes: dict[str, Any]
) -> None:
    assert_same_device(arguments(timing, "sepbit", proposers=["dac", "sep_gc"], **changes))


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("placement", ["hot_to_victims", "hotness_groups"])
@pytest.mark.parametrize("counts", ["writes", "updates"])
def test_sub_blocks__compiled_and_played__the_same_device(counts: str, placement: str, timing: str) -> None:
    """With updates the first writes of pages open a block of the pool and keep it."""
    hotness = {"counters": 64, "thresholds": [1, 2, 4], "counts": counts}
    model = device(
        {"blocks_per_plane": 24, "sub_blocks_per_block": 4},
        {"timing": timing, "placement": placement, "hotness": hotness},
        erase_unit="sub_block_run",
        isolation="software",
    )
    options = arguments(device=model, victims="gsm")
    env = PlacementEnv(**options)
    assert env.action_space.n == 2
    actions = []

    def choose(info: dict[str, Any]) -> Any:
        actions.append(int(info["proposed"][0]))
        return actions[-1]

    play(env, SEED, choose)
    assert set(actions) <= {0, 1} and 1 in actions, "a stream and the sub-block of the placement"
    sim = compiled_run(env.episodes.devices[0], "gsm", MIXED, SEED, HORIZON, WARMUP)
    assert sim.metrics()["relocated_pages"] > 50
    # At the end a proposal is shown once more: an order of blocks is repaired where its first is looked for.
    found = {"block_memory", "stream_memory"} if placement == "hot_to_victims" else set()
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED | found


def test_dynamic_allocation__compiled_and_played__the_same_device() -> None:
    assert_same_device(arguments(device=spacious("event", "sepbit", 2, allocation="dynamic")))


@pytest.mark.parametrize("timing", ["none", "event"])
def test_host_pages_to_the_streams_of_the_placement__the_device_of_the_plain_run(timing: str) -> None:
    env = assert_same_device(arguments(timing, "dac", pages="host"))
    plain = Simulator(spacious(timing, "dac", 2), policy=VICTIMS)
    assert streams_of(env.episodes.devices[0]) == streams_of(plain.device)
    for name in ("low_free", "low_pool", "stop_free", "stop_pool", "valid_limit"):
        assert env.episodes.state.params[name] == plain.state.params[name], name


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
    assert_same_device(arguments("event", "sep_gc", per="request"))
