"""Every environment in the settings that tests play it in, and how episodes are played."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.engine.core.family import State
from ssdgym.envs import (
    BackgroundGCEnv,
    DecisionEnv,
    EraseVictimEnv,
    JointGCEnv,
    MergePlanEnv,
    ParallelEraseEnv,
    PlacementEnv,
    SubpageRegionEnv,
    WearLevelEnv,
    vectorized,
)
from ssdgym.simulator import Simulator
from ssdgym.simulator.build import copy_device
from tests.engine.devices import device, full_device
from tests.simulator.test_subpage import tiny

ENVIRONMENTS: dict[str, type[DecisionEnv]] = {
    "EraseVictim": EraseVictimEnv,
    "ParallelErase": ParallelEraseEnv,
    "Placement": PlacementEnv,
    "JointGC": JointGCEnv,
    "BackgroundGC": BackgroundGCEnv,
    "SubpageRegion": SubpageRegionEnv,
    "MergePlan": MergePlanEnv,
    "WearLevel": WearLevelEnv,
}

RUNS = {"geometry": {"sub_blocks_per_block": 4}, "erase_unit": "sub_block_run"}
#: A threshold of some blocks, so that there is room for the pages of several before they are erased.
ROOMY = {"gc": {"free_blocks": 5}}
SHAPE = {"blocks_per_plane": 32, "sub_blocks_per_block": 4, "planes_per_die": 2}
#: Requests whose reads, trims and arrivals matter to devices in time.
MIXED = {
    "kind": "zipf",
    "theta": 0.9,
    "read_fraction": 0.2,
    "trim_fraction": 0.02,
    "request_pages": 2,
    "interarrival_ns": 900.0,
}
BURSTS = {"kind": "zipf", "interarrival_ns": 4000, "arrivals": "bursts", "burst_requests": 10}
#: Victim policies that `JointGC` is given.
VICTIMS = ("greedy", "cost_benefit(since_close=1)", "d_choices(d=3)")


def spacious(timing: str = "none", placement: str = "sep_gc", planes: int = 1, **ftl: Any) -> DeviceConfig:
    """A device with room for many streams."""
    geometry = {"blocks_per_plane": 40, "pages_per_block": 4, "planes_per_die": planes}
    return device(geometry, {"timing": timing, "placement": placement, **ftl}, over_provisioning=1.0)


def idle_device(preemptible: bool = True, idle: str | None = None, **ftl: Any) -> DeviceConfig:
    gc = {"free_blocks": 2, "preemptible": preemptible, **({} if idle is None else {"idle": idle})}
    return device({"planes_per_die": 2}, {"timing": "event", "gc": gc, **ftl})


def bursting(preemptible: bool = True) -> dict[str, Any]:
    """The arguments of `JointGC` that decides about idle dies, too."""
    gc = {"free_blocks": 2, "preemptible": preemptible, "idle": "threshold(blocks=6)"}
    return {"device": spacious("event", "sepbit", 2, gc=gc), "workload": BURSTS, "idle": True}


def demo(timing: str = "none", **changes: Any) -> DeviceConfig:
    """Two planes of 32 blocks of 64 pages, erased down to 4 pages: 7 candidates of merges."""
    return load_device({"base": "pen-demo", "ftl.timing": timing, **changes})


SUPERBLOCKS = {"ftl.kind": "superblock", "ftl.physical_blocks": 7}
COARSE = {"geometry.sub_blocks_per_block": 4, "timing.partial_erase_ns": {32: 9_950_000, 16: 9_790_000}}
WHOLE = {"geometry.sub_blocks_per_block": 1, "timing.partial_erase_ns": {}, "erase_unit": "block"}

#: The arguments that all kinds of an environment have.
SHARED: dict[str, dict[str, Any]] = {
    "EraseVictim": {"workload": "zipf80", "horizon": 400, "candidates": 6},
    "ParallelErase": {
        "workload": "zipf80",
        "horizon": 400,
        "candidates": 12,
        "objective": {"relocations": 1.0},
        "reward": "plain",
    },
    "Placement": {"workload": "zipf80", "horizon": 200, "reward": "plain"},
    "JointGC": {
        "workload": MIXED,
        "horizon": 700,
        "warmup": 150,
        "proposers": VICTIMS,
        "candidates": 5,
        "streams": None,
        "reward": "plain",
    },
    "BackgroundGC": {"workload": BURSTS, "horizon": 200},
    "SubpageRegion": {"workload": "small_mixed", "horizon": 400, "reward": "plain"},
    "MergePlan": {"workload": "block_mixed", "horizon": 400, "reward": "plain"},
    "WearLevel": {"workload": MIXED, "horizon": 400, "levelling": "dual_pool(threshold=1)"},
}
KINDS: dict[str, dict[str, dict[str, Any]]] = {
    "EraseVictim": {
        "blocks": {"device": full_device()},
        "timed": {"device": full_device({"planes_per_die": 2}, {"timing": "event"})},
        "runs of sub-blocks": {"device": full_device(**RUNS)},
        "every erase set": {"device": full_device(**RUNS), "candidates": "all"},
        "every block": {"device": full_device(), "candidates": "all"},
        "warmup": {"device": full_device(), "warmup": 100},
    },
    "ParallelErase": {
        "blocks": {"device": device({"blocks_per_plane": 32}, ROOMY)},
        "timed": {
            "device": device(SHAPE, {**ROOMY, "timing": "event", "queue_depth": 8}),
            "objective": {"latency": 1.0},
        },
        "runs": {"device": device(SHAPE, ROOMY, erase_unit="sub_block_run", isolation="software")},
        "sets": {"device": device(SHAPE, ROOMY, erase_unit="sub_block_set")},
        "relaxed": {"device": device(SHAPE, ROOMY, multi_plane="relaxed")},
        "strict": {"device": device(SHAPE, ROOMY, multi_plane="strict")},
        "eight": {"device": device({"blocks_per_plane": 32}, ROOMY), "most_blocks": 8},
    },
    "Placement": {
        "both": {"device": spacious()},
        "timed": {"device": spacious("event")},
        "host": {"device": spacious(), "pages": "host"},
        "relocated": {"device": spacious(), "pages": "relocated"},
        "by request": {"device": spacious(), "per": "request"},
        "proposers": {"device": spacious(placement="dac"), "proposers": ["sepbit", "sep_gc"], "streams": 6},
        "all features": {"device": spacious(), "features": "all"},
    },
    "JointGC": {
        "untimed": {"device": spacious("none", "sepbit", 2)},
        "timed": {"device": spacious("event", "sepbit", 2)},
        "idle": bursting(),
    },
    "BackgroundGC": {
        "as a rule": {"device": idle_device()},
        "atomic": {"device": idle_device(preemptible=False)},
        "late": {"device": idle_device(allocation="late"), "victims": "cost_benefit"},
        "all features": {"device": idle_device(), "features": "all"},
    },
    "SubpageRegion": {
        "both": {"device": tiny()},
        "timed": {"device": tiny(timing="event")},
        "open loop": {"device": tiny(timing="event", queue_depth=0)},
        "flushes": {"device": tiny(), "decides": "flushes"},
        "collected": {"device": tiny(), "decides": "collected", "workload": "zipf99"},
        "all features": {"device": tiny(timing="event"), "features": "all"},
        "two devices": {"device": [tiny(), tiny(region_share=0.15)]},
    },
    "MergePlan": {
        "nftl": {"device": demo()},
        "timed": {"device": demo("event")},
        "open loop": {"device": demo("event", **{"ftl.queue_depth": 0})},
        "superblock": {"device": demo(**SUPERBLOCKS)},
        "whole blocks": {"device": demo(**WHOLE)},
        "all features": {"device": demo("event"), "features": "all"},
        "two devices": {"device": [demo(), demo(**COARSE, **SUPERBLOCKS)]},
    },
    "WearLevel": {
        "blocks": {"device": spacious()},
        "timed": {"device": spacious("event", "sepbit", 2, block_allocation="least_worn")},
        "all features": {"device": device(**RUNS), "features": "all"},
    },
}
#: Every environment in every kind of setting, as parameters.
CASES = [(name, kind) for name in KINDS for kind in KINDS[name]]
each_case = pytest.mark.parametrize(("name", "kind"), CASES)
each_environment = pytest.mark.parametrize("name", ENVIRONMENTS)


def options(name: str, kind: str = "", **changes: Any) -> dict[str, Any]:
    """The arguments of an environment in a kind of setting, the first one unless named."""
    kinds = KINDS[name]
    return {**SHARED[name], **kinds[kind or next(iter(kinds))], **changes}


def any_valid(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def playing(env: DecisionEnv, seed: int, rng: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
    """Play any valid actions to the end of an episode; yield every observation before the step."""
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        yield observation
        observation, _, _, over, _ = env.step(any_valid(observation["action_mask"], rng))


#: Chooses an action by the info of a decision.
Choose = Callable[[dict[str, Any]], Any]


def proposal(number: int) -> Choose:
    return lambda info: info["proposed"][number]


def always(action: int) -> Choose:
    return lambda info: action


def first_valid(env: DecisionEnv) -> Choose:
    return lambda info: int(env.action_masks().argmax())


def valid(env: DecisionEnv, rng: np.random.Generator) -> Choose:
    return lambda info: any_valid(env.action_masks(), rng)


class Played(NamedTuple):
    """What an episode paid at every step, the same by term in sum, and its last info."""

    rewards: np.ndarray
    terms: dict[str, float]
    info: dict[str, Any]

    @property
    def total(self) -> float:
        return float(self.rewards.sum())

    @property
    def metrics(self) -> dict[str, Any]:
        return self.info["metrics"]


def play(env: DecisionEnv, seed: int, choose: Choose) -> Played:
    """Play an episode to its end."""
    _, info = env.reset(seed=seed)
    rewards, terms, over = [], [], False
    while not over:
        _, reward, ended, truncated, info = env.step(choose(info))
        over = ended or truncated
        rewards.append(reward)
        terms.append(info["terms"])
    return Played(np.array(rewards), {name: sum(step[name] for step in terms) for name in terms[0]}, info)


def compiled_run(
    model: DeviceConfig, policy: str, workload: Any, seed: int, host_pages: int, warmup: int
) -> Simulator:
    """The run of a policy inside the engine that an environment has with the same arguments."""
    simulator = Simulator(model, policy=policy, seed=seed)
    simulator.precondition(workload)
    simulator.run(workload, host_pages=host_pages, warmup=warmup, seed=seed)
    return simulator


def ended_devices(environment: Any, seeds: list[int], choose: Choose, **arguments: Any) -> dict[int, State]:
    """Play the first episodes of a vector environment; return its devices as each has ended."""

    class Keeping(vectorized(environment)):  # type: ignore[misc]
        """Keeps the devices whose episodes end, before they begin the next one."""

        def _end(self, over: np.ndarray, terms: np.ndarray) -> dict[str, Any]:
            for i in np.flatnonzero(over):
                ended.setdefault(int(i), copy_device(self.episodes.state, int(i)))
            return super()._end(over, terms)

    ended: dict[int, State] = {}
    env = Keeping(len(seeds), **arguments)
    _, info = env.reset(seed=seeds)
    while len(ended) < len(seeds):
        info = env.step(choose(info))[4]
    return ended
