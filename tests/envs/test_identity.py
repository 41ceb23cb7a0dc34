"""One policy, one seed, one device: compiled, through the environments or elsewhere, all state is the same.

Compared are all arrays of the device; only the place in the input chunk, where it stops next and how
many latencies are kept may differ.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.envs import EraseVictimEnv
from ssdgym.envs.episodes import Episodes
from ssdgym.envs.erase_victim import EraseVictimOptions
from ssdgym.policy import available_policies, get_policy
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import content, copy_device
from tests.engine.devices import INPUT_FIELDS, POLICIES, RECORDINGS, device, differences, full_device
from tests.envs import cases

WORKLOAD = {
    "kind": "zipf",
    "theta": 0.9,
    "read_fraction": 0.3,
    "trim_fraction": 0.02,
    "interarrival_ns": 900.0,
}
HORIZON, WARMUP, SEED = 1500, 300, 11
GEOMETRY = {"planes_per_die": 2, "sub_blocks_per_block": 2}
FTLS = {
    "none": {"timing": "none"},
    "event": {"timing": "event"},
    "none-dynamic": {"timing": "none", "allocation": "dynamic", "placement": "single"},
    "event-dynamic-background": {
        "timing": "event",
        "allocation": "dynamic",
        "gc": {
            "free_fraction": 0.15,
            "background_fraction": 0.2,
            "mode": "per_write",
            "priority": "after_reads",
        },
    },
}
#: Those that ask nothing of the device; `test_parallel_identity` has the others.
ANYWHERE = [policy for policy in POLICIES if get_policy(policy).main.multi_plane is None]
CASES = [(policy, ftl) for policy in ANYWHERE for ftl in ("none", "event")]
CASES += [
    (policy, ftl) for policy in ("greedy", "random") for ftl in ("none-dynamic", "event-dynamic-background")
]


def config(ftl: str) -> DeviceConfig:
    return full_device(GEOMETRY, FTLS[ftl])


def arguments(ftl: str, policy: str, **changes: Any) -> dict[str, Any]:
    """Of an environment whose second proposer is the policy."""
    return {
        "device": config(ftl),
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "warmup": WARMUP,
        "candidates": 5,
        "proposers": ("fifo" if policy != "fifo" else "greedy", policy),
        **changes,
    }


def compiled_run(ftl: str, policy: str, seed: int = SEED) -> Simulator:
    sim = cases.compiled_run(config(ftl), policy, WORKLOAD, seed, HORIZON, WARMUP)
    assert sim.metrics()["gc_invocations"] > 50
    return sim


def env_run(**options: Any) -> EraseVictimEnv:
    env = EraseVictimEnv(**options)
    cases.play(env, SEED, cases.proposal(1))
    return env


def vector_run(**options: Any) -> dict[int, State]:
    """The first episodes of three environments, of which number 1 has the seed of the others here."""
    seeds = [SEED + 5, SEED, SEED + 9]
    return cases.ended_devices(EraseVictimEnv, seeds, lambda info: info["proposed"][:, 1], **options)


def test_policies_here__are_all_that_run_on_any_device() -> None:
    asked = {
        name: (policy.main.erase_unit, policy.main.multi_plane, policy.beside.get("placement"))
        for name, policy in available_policies().items()
        if not policy.victim.shares_memory_with
    }
    anywhere = {name for name, asks in asked.items() if asks == (None, None, None)}
    assert {policy.split("(")[0] for policy in ANYWHERE} == anywhere


@pytest.mark.parametrize(("policy", "ftl"), CASES)
def test_compiled__environment__vector(policy: str, ftl: str) -> None:
    compiled = compiled_run(ftl, policy)
    env = env_run(**arguments(ftl, policy))
    assert differences(env.episodes.state, 0, compiled.state, 0) == []
    ended = vector_run(**arguments(ftl, policy))
    assert differences(ended[1], 0, compiled.state, 0) == []
    assert differences(ended[0], 0, compiled.state, 0) != []


@pytest.mark.parametrize("ftl", ["none", "event"])
def test_fixed_places__the_same_as_proposed_candidates(ftl: str) -> None:
    env = env_run(**arguments(ftl, "cost_benefit", candidates="all"))
    assert differences(env.episodes.state, 0, compiled_run(ftl, "cost_benefit").state, 0) == []


@pytest.mark.parametrize("ftl", ["none", "event"])
def test_vector__devices_of_different_geometry__each_as_alone(ftl: str) -> None:
    """Environments in one batch are padded to the largest; each behaves as it does by itself."""
    others = [
        device({"blocks_per_plane": 20, "pages_per_block": 12, "channels": 3}, FTLS[ftl]),
        device(ftl=FTLS[ftl]),
    ]
    mixed = vector_run(**arguments(ftl, "greedy", device=[others[0], config(ftl), others[1]]))
    assert differences(mixed[1], 0, compiled_run(ftl, "greedy").state, 0) == []
    for i, alone in ((0, others[0]), (2, others[1])):
        sim = cases.compiled_run(alone, "greedy", WORKLOAD, SEED + (5, 0, 9)[i], HORIZON, WARMUP)
        assert differences(mixed[i], 0, sim.state, 0) == []


@pytest.mark.parametrize("candidates", [5, "all"])
@pytest.mark.parametrize("ftl", ["none", "event"])
def test_observe__ten_times__changes_nothing(ftl: str, candidates: Any) -> None:
    episodes = Episodes(EraseVictimOptions(**arguments(ftl, "random", candidates=candidates)), 2)
    episodes.start([0, 1], [SEED, SEED + 1])
    for _ in range(30):
        device_before = copy_device(episodes.state, 1)
        view_before = [array.copy() for array in episodes.view]
        for _ in range(10):
            episodes.observe_again()
        assert differences(episodes.state, 1, device_before, 0) == []
        for before, now in zip(view_before, episodes.view, strict=True):
            np.testing.assert_array_equal(before, now)
        take(episodes, episodes.view.proposed[:, 1])
    assert digest(episodes.state, 0) == digest(_thirty_steps(ftl, candidates), 0)


def take(episodes: Episodes, actions: np.ndarray) -> None:
    episodes.actions[:] = actions
    episodes.step(episodes.all)


def _thirty_steps(ftl: str, candidates: Any) -> State:
    episodes = Episodes(EraseVictimOptions(**arguments(ftl, "random", candidates=candidates)), 2)
    episodes.start([0, 1], [SEED, SEED + 1])
    for _ in range(30):
        take(episodes, episodes.view.proposed[:, 1])
    return episodes.state


def digest(state: State, i: int) -> str:
    """Hash of the values of a device."""
    result = hashlib.sha256()
    for name, array in state._asdict().items():
        if name == "control":
            fields = [field for field in array.dtype.names if field not in INPUT_FIELDS]
            result.update(b"".join(array[field][i].tobytes() for field in fields))
        elif name not in RECORDINGS:
            result.update(content(array[i]))
    return result.hexdigest()


def fingerprint() -> str:
    """What a run leaves behind, compiled and through the environment, with and without time."""
    digests = []
    for ftl in ("none", "event"):
        digests.append(digest(compiled_run(ftl, "d_choices(d=3)").state, 0))
        digests.append(digest(env_run(**arguments(ftl, "random")).episodes.state, 0))
    return " ".join(digests)


def test_same_seed__in_a_new_process__the_same_bits() -> None:
    script = "from tests.envs.test_identity import fingerprint; print(fingerprint())"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.strip() == fingerprint(), done.stderr


def test_same_seed__twice_in_one_environment__the_same_episode() -> None:
    env = EraseVictimEnv(**arguments("event", "random"))
    ends = []
    for _ in range(2):
        cases.play(env, SEED, cases.proposal(1))
        ends.append(digest(env.episodes.state, 0))
    assert ends[0] == ends[1]
    env.reset(seed=SEED + 1)
    assert digest(env.episodes.state, 0) != ends[0]


def test_gym_make__the_same_as_the_class() -> None:
    env = gym.make("ssdgym/EraseVictim-v0", **arguments("none", "greedy"))
    cases.play(env, SEED, cases.proposal(1))
    assert digest(env.unwrapped.episodes.state, 0) == digest(compiled_run("none", "greedy").state, 0)
