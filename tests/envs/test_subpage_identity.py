"""SubFTL's rules played through `SubpageRegion-v0` leave the device that they leave compiled, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.envs import SubpageRegionEnv
from ssdgym.requests import Requests
from ssdgym.simulator import Simulator
from tests.config.test_subpage import parts
from tests.engine.devices import differences
from tests.envs.cases import compiled_run
from tests.simulator.test_subpage import mixed

HORIZON, WARMUP, SEED = 9000, 300, 11
TIMINGS = ("none", "event")
#: The rules for what is written next, and for what is in the way there.
RULES: dict[str, dict[str, Any]] = {
    "mended": {"wear_gap": 1},
    "fewest_valid": {"rule": "fewest_valid"},
    "never": {"advance": "never"},
    "fewest_valid, never": {"rule": "fewest_valid", "advance": "never"},
}
#: What a device notes of the questions it is asked outside; nothing follows from it.
ASKED = {"control.decision_kind", "control.decision_subject", "buffer.collected_plane", "buffer.leaving"}


def everything(seed: int, logical_pages: int) -> Iterator[Requests]:
    """Small and large writes, half of them sync and most of them to a few sectors; reads, trims, flushes."""
    rng = np.random.default_rng(seed)
    now = 0
    while True:
        hot = bool(rng.random() < 0.8)
        requests = mixed(40, logical_pages // 8 if hot else logical_pages, int(rng.integers(2**31)), most=5)
        requests["arrival_ns"] = now + np.cumsum(rng.integers(0, 900, len(requests)))
        now = int(requests["arrival_ns"][-1])
        yield requests


def regional(timing: str, rules: str = "mended", queue_depth: int = 4, **ftl: Any) -> DeviceConfig:
    """Four planes of 16 blocks of 8 pages of 4 subpages, 4 blocks of each a region; a buffer of 3 groups."""
    geometry = {"channels": 2, "planes_per_die": 2}
    geometry |= {"blocks_per_plane": 16, "pages_per_block": 8}
    geometry |= {"page_size_bytes": 16384, "subpages_per_page": 4}
    fields = {"mapping": "subpage", "timing": timing, "queue_depth": queue_depth, "buffer_groups": 3}
    fields |= {"region_share": 0.25, **RULES[rules], **ftl}
    return parts(geometry=geometry, capacity={"over_provisioning": 1.1}, ftl=fields)


def arguments(device: DeviceConfig, **changes: Any) -> dict[str, Any]:
    given = {"workload": everything, "horizon": HORIZON, "warmup": WARMUP, "reward": "plain"}
    return {"device": device, **given, **changes}


def played(device: DeviceConfig, **changes: Any) -> tuple[SubpageRegionEnv, dict[str, int]]:
    """Play what the FTL would do by itself; return how often each question was answered how."""
    env = SubpageRegionEnv(**arguments(device, features=["way_number", "asks_collected"], **changes))
    observation, info = env.reset(seed=SEED)
    answers = dict.fromkeys(("flush 0", "flush 1", "collected 0", "collected 1"), 0)
    over = False
    while not over:
        action = int(info["proposed"][0])
        answers[f"{'collected' if observation['context'][0] else 'flush'} {action}"] += 1
        observation, _, _, over, info = env.step(action)
    return env, answers


def compiled(device: DeviceConfig, victims: str = "greedy") -> Simulator:
    """The run of the same FTL by itself."""
    sim = compiled_run(device, victims, everything, SEED, HORIZON, WARMUP)
    metrics = sim.metrics()
    assert metrics["region_collections"] > 20 and metrics["region_moves"] > 20 and metrics["evictions"] > 20
    assert metrics["lost_pages"] == 0
    return sim


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("rules", RULES)
def test_own_rules__compiled_and_played__the_same_device(rules: str, timing: str) -> None:
    env, answers = played(regional(timing, rules))
    sim = compiled(env.episodes.devices[0])
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED
    assert env.metrics() == sim.metrics()
    assert answers["flush 0"] == 0
    assert min(answers["flush 1"], answers["collected 0"], answers["collected 1"]) > 20


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(
    ("decides", "kinds"), [("flushes", {"flush 1"}), ("collected", {"collected 0", "collected 1"})]
)
def test_one_question__compiled_and_played__the_same_device(
    decides: str, kinds: set[str], timing: str
) -> None:
    env, answers = played(regional(timing), decides=decides)
    assert set(differences(env.episodes.state, 0, compiled(env.episodes.devices[0]).state, 0)) <= ASKED
    assert {name for name, count in answers.items() if count} == kinds


#: Also one with so few transactions that evictions have to wait for them.
OTHERS: dict[str, dict[str, Any]] = {
    "open loop": {"queue_depth": 0},
    "barrier": {"gc": {"free_blocks": 2, "mode": "barrier"}},
    "reads first": {"gc": {"free_blocks": 2, "priority": "after_reads"}},
    "few transactions": {"window_pages": 20, "queue_depth": 32},
    "few transactions, open loop": {"window_pages": 20, "queue_depth": 0},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_other_devices__compiled_and_played__the_same_device(changes: dict[str, Any]) -> None:
    env, _ = played(regional("event", **changes), victims="cost_benefit")
    sim = compiled(env.episodes.devices[0], "cost_benefit")
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED
