"""Merge rules played through `MergePlan-v0` leave the device that they leave compiled, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.envs import MergePlanEnv, MergePlanVectorEnv
from ssdgym.requests import PARTIAL_HEAD, WRITE, Requests
from ssdgym.simulator import Simulator
from tests.engine.devices import differences
from tests.envs.cases import compiled_run
from tests.simulator.test_block import in_place, mixed  # noqa: F401 - a fixture

HORIZON, WARMUP, SEED = 4000, 300, 11
TIMINGS = ("none", "event")
KINDS = ("nftl", "superblock")
RULES = ("merge", "mmerge", "mmerge_fixed(depth=2)", "cheapest_plan")
#: Rules by kind. M-Merges of superblocks this small seldom pay, so one rule takes them anyhow.
OF_KINDS = [("nftl", rule) for rule in RULES]
OF_KINDS += [("superblock", rule) for rule in ("merge", "mmerge", "in_place")]
#: What a device notes of the questions it is asked outside; and, where two candidates do the same, which of
#: them it was.
ASKED = {"control.decision_kind", "control.decision_subject", "job.answer"}


def everything(seed: int, logical_pages: int) -> Iterator[Requests]:
    """Writes of a few pages, most of them to an eighth of the space; reads, trims, pages written in part."""
    rng = np.random.default_rng(seed)
    now = 0
    while True:
        hot = bool(rng.random() < 0.8)
        pages = logical_pages // 8 if hot else logical_pages
        requests = mixed(40, pages, int(rng.integers(2**31)), most=5)
        requests["flags"] = np.where(requests["op"] == WRITE, rng.choice([0, 0, PARTIAL_HEAD], 40), 0)
        requests["arrival_ns"] = now + np.cumsum(rng.integers(0, 4_000_000, len(requests)))
        now = int(requests["arrival_ns"][-1])
        yield requests


def merging(kind: str, timing: str, **changes: Any) -> DeviceConfig:
    """Four planes of 16 blocks of 32 pages, erased in eighths; erases are so short that M-Merges pay."""
    fields = {"planes_per_die": 2, "pages_per_block": 32}
    times = {"erase_ns": 2_000_000, "partial_erase_ns": {16: 1_900_000, 8: 1_800_000, 4: 1_700_000}}
    device = {"base": "pen-tiny", "ftl.kind": kind, "ftl.timing": timing}
    device |= {f"geometry.{name}": value for name, value in fields.items()}
    device |= {f"timing.{name}": value for name, value in times.items()}
    device |= {"ftl.physical_blocks": 6} if kind == "superblock" else {}
    return load_device({**device, **changes})


def arguments(device: DeviceConfig, **changes: Any) -> dict[str, Any]:
    given = {"workload": everything, "horizon": HORIZON, "warmup": WARMUP, "reward": "plain"}
    return {"device": device, **given, **changes}


def played(device: DeviceConfig, rule: str) -> tuple[MergePlanEnv, np.ndarray]:
    """Play what a rule would choose; return how often each candidate was."""
    env = MergePlanEnv(**arguments(device, proposers=[rule], features=["plan_cost"]))
    observation, info = env.reset(seed=SEED)
    answers = np.zeros(env.episodes.candidates, np.int64)
    over = False
    while not over:
        action = int(info["proposed"][0])
        assert observation["action_mask"][action]
        answers[action] += 1
        observation, _, _, over, info = env.step(action)
    return env, answers


def compiled(device: DeviceConfig, rule: str) -> Simulator:
    """The run of the same rule inside the engine."""
    sim = compiled_run(device, rule, everything, SEED, HORIZON, WARMUP)
    assert sim.metrics()["lost_pages"] == 0
    return sim


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize(("kind", "rule"), OF_KINDS)
def test_rule__compiled_and_played__the_same_device(rule: str, kind: str, timing: str) -> None:
    env, answers = played(merging(kind, timing), rule)
    sim = compiled(env.episodes.devices[0], rule)
    assert set(differences(env.episodes.state, 0, sim.state, 0)) <= ASKED
    metrics = sim.metrics()
    assert env.metrics() == metrics
    assert answers[0] > 5 and (rule == "merge" or answers[1:].sum() > 2)
    assert metrics["full_jobs"] > 2 and metrics["pool_jobs"] > 2


#: Jobs whose commands alternate with pages of the host, few blocks, disturbance that destroys, no care.
OTHERS: dict[str, dict[str, Any]] = {
    "spread": {"ftl.gc.merges": "spread"},
    "open loop": {"ftl.queue_depth": 0},
    "spread, open loop": {"ftl.gc.merges": "spread", "ftl.queue_depth": 0},
    "reads first": {"ftl.gc.priority": "after_reads"},
    "any disturbance": {"ftl.disturb_tolerance": None},
    "much disturbance": {"ftl.disturb_tolerance": 0},
    "erases of one time": {"timing.partial_erase_ns": {}},
    "striped by pages": {"ftl.striping": "pages"},
    "few M-Merges": {"ftl.gc.mmerge_limit": 1},
}


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_other_devices__compiled_and_played__the_same_device(changes: dict[str, Any], timing: str) -> None:
    device = merging("nftl", timing, **changes)
    env, _ = played(device, "mmerge")
    assert set(differences(env.episodes.state, 0, compiled(device, "mmerge").state, 0)) <= ASKED


@pytest.mark.parametrize("timing", TIMINGS)
def test_vector__of_both_kinds_and_of_two_depths__each_as_its_rule_leaves_it(timing: str) -> None:
    deep = {"geometry.sub_blocks_per_block": 16}
    deep["timing.partial_erase_ns"] = {16: 1_900_000, 8: 1_800_000, 4: 1_700_000, 2: 1_650_000}
    devices = [merging("nftl", timing), merging("superblock", timing), merging("nftl", timing, **deep)]
    env = MergePlanVectorEnv(3, **arguments(devices, proposers=["mmerge"]), autoreset_mode="NextStep")
    observation, infos = env.reset(seed=[SEED] * 3)
    assert observation["candidates"].shape[1] == 7
    assert not observation["action_mask"][:2, 6].any()
    left = {0, 1, 2}
    while left:
        observation, _, _, over, infos = env.step(infos["proposed"][:, 0].astype(np.int64))
        for i in left & set(np.flatnonzero(over).tolist()):  # before the next step resets it
            sim = compiled(devices[i], "mmerge")
            assert set(differences(env.episodes.state, i, sim.state, 0)) <= ASKED
            left.remove(i)
