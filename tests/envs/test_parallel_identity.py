"""`ippbe` compiled and through `ParallelErase-v0`, single and vector: the same device bit for bit."""

from __future__ import annotations

from typing import Any

import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.envs import ParallelEraseEnv
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences
from tests.envs import cases
from tests.envs.cases import SHAPE

WORKLOAD = {"kind": "zipf", "theta": 0.9, "read_fraction": 0.3, "interarrival_ns": 900.0}
HORIZON, WARMUP, SEED = 900, 200, 11
#: Policy -> what it needs of the device.
NEEDS: dict[str, dict[str, Any]] = {
    "ippbe(limit=3, tau=0.9)": {},
    "ippbe_multiplane": {"multi_plane": "relaxed"},
    "ippbe_multiplane_strict": {"multi_plane": "strict"},
    "ippbe_subblock": {"erase_unit": "sub_block_set", "isolation": "software"},
    "ippbe_subblock_multiplane": {"erase_unit": "sub_block_set", "multi_plane": "relaxed"},
    "parallel_gc": {"multi_plane": "strict"},
}
each_policy = pytest.mark.parametrize("policy", NEEDS)
each_timing = pytest.mark.parametrize("timing", ["none", "event"])


def config(policy: str, timing: str, **shape: Any) -> DeviceConfig:
    ftl = {"timing": timing, "gc": {"free_blocks": 5}}
    return device({**SHAPE, **shape}, ftl, over_provisioning=2.0, **NEEDS[policy])


def arguments(policy: str, devices: DeviceConfig | list[DeviceConfig]) -> dict[str, Any]:
    """Of an environment whose second proposer is the policy."""
    return {
        "device": devices,
        "workload": WORKLOAD,
        "objective": {"relocations": 1.0},
        "horizon": HORIZON,
        "warmup": WARMUP,
        "candidates": 6,
        "proposers": ("fifo", policy),
    }


def compiled_run(policy: str, on: DeviceConfig, seed: int = SEED) -> Simulator:
    sim = cases.compiled_run(on, policy, WORKLOAD, seed, HORIZON, WARMUP)
    assert sim.device == on
    return sim


def vector_run(seeds: list[int], **options: Any) -> dict[int, State]:
    return cases.ended_devices(ParallelEraseEnv, seeds, lambda info: info["proposed"][:, 1], **options)


@each_timing
@each_policy
def test_compiled__environment__vector(policy: str, timing: str) -> None:
    on = config(policy, timing)
    compiled = compiled_run(policy, on)
    metrics = compiled.metrics()
    pairs = int(compiled.state.counters["erases"][0, 0])
    assert pairs > 1.05 * metrics["gc_invocations"] > 40, "several blocks in many a round"
    env = ParallelEraseEnv(**arguments(policy, on))
    info = cases.play(env, SEED, cases.proposal(1)).info
    assert differences(env.episodes.state, 0, compiled.state, 0) == []
    assert info["metrics"] == metrics
    ended = vector_run([SEED + 5, SEED, SEED + 9], **arguments(policy, on))
    assert differences(ended[1], 0, compiled.state, 0) == []
    assert differences(ended[0], 0, compiled.state, 0) != []


@each_timing
@pytest.mark.parametrize("policy", ["ippbe(limit=3, tau=0.9)", "ippbe_multiplane", "ippbe_subblock"])
def test_vector__devices_of_different_geometry__each_as_alone(policy: str, timing: str) -> None:
    """Environments in one batch are padded to the largest; each behaves as it does by itself."""
    others = [
        config(policy, timing, blocks_per_plane=24, pages_per_block=12, channels=3),
        config(policy, timing),
        config(policy, timing, planes_per_die=3, channels=1, sub_blocks_per_block=2),
    ]
    seeds = [SEED + 5, SEED, SEED + 9]
    mixed = vector_run(seeds, **arguments(policy, others))
    for i, (on, seed) in enumerate(zip(others, seeds, strict=True)):
        assert differences(mixed[i], 0, compiled_run(policy, on, seed).state, 0) == []


def test_vector__devices_of_all_kinds__each_as_alone() -> None:
    """Planes that erase together beside ones that do not, and sub-blocks beside blocks; `ippbe` on each."""
    policy = "ippbe(limit=3, tau=0.9)"
    base = config(policy, "event").model_dump()
    kinds = [
        {},
        {"multi_plane": "relaxed"},
        {"multi_plane": "strict"},
        {"erase_unit": "sub_block_set"},
        {"erase_unit": "sub_block_set", "multi_plane": "relaxed", "isolation": "software"},
    ]
    batch = [DeviceConfig.model_validate({**base, **kind}) for kind in kinds]
    seeds = [SEED + i for i in range(len(batch))]
    mixed = vector_run(seeds, **arguments(policy, batch))
    for i, (on, seed) in enumerate(zip(batch, seeds, strict=True)):
        assert differences(mixed[i], 0, compiled_run(policy, on, seed).state, 0) == []


def test_most_blocks__of_the_candidates__changes_nothing_that_a_proposer_picks() -> None:
    policy = "ippbe(limit=3, tau=0.9)"
    on = config(policy, "none")
    ended = [vector_run([SEED], **arguments(policy, on), most_blocks=most)[0] for most in (2, 8)]
    assert differences(ended[0], 0, ended[1], 0) == []
