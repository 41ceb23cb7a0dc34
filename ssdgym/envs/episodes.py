"""Many devices that stop at ERASE decisions: episodes, aged starts, input, observations, rewards.

What the single and the vector environment have in common, free of Gymnasium.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.config.checks import is_whole
from ssdgym.config.device import DeviceConfig, FtlConfig
from ssdgym.engine.core.family import State
from ssdgym.envs.batch import CHUNK, Batch
from ssdgym.envs.rewards import Reward
from ssdgym.errors import SsdgymError
from ssdgym.policy import Policy, device_for, get_policy
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.snapshot import copy_device
from ssdgym.workloads.base import RequestStream
from ssdgym.workloads.load import load_workload
from ssdgym.workloads.records.played import PlayedConfig
from ssdgym.workloads.stream import open_workload

DEFAULT_PROPOSERS = ("greedy", "cost_benefit", "fifo", "windowed_greedy", "d_choices", "random")
#: Host pages of an episode are fewer than this.
_LONGEST_EPISODE = 2**62
#: Most candidates when all erase sets of a plane are listed.
_MOST_CANDIDATES = 4096


@dataclass(frozen=True)
class Options:
    """What an environment is made of; see :class:`ssdgym.envs.EraseVictimEnv` and
    :class:`ssdgym.envs.ParallelEraseEnv` for the meaning.
    """

    device: Any = "demo"
    ftl: FtlConfig | dict[str, Any] | None = None
    workload: Any = "zipf99"
    objective: Mapping[str, float] | None = None
    horizon: int = 8192
    settling: int = 0
    candidates: int | str = 16
    proposers: Sequence[str] = DEFAULT_PROPOSERS
    ageing_seed: int = 0
    #: With 1 only proposers offer several blocks to erase together.
    most_blocks: int = 1


class Episodes:
    """A batch of devices and the episodes they are in.

    The arrays in ``view`` are written again by every call; who wants to keep one copies it.
    """

    def __init__(self, options: Options, count: int) -> None:
        _check(options)
        self.options = options
        sources = options.device if isinstance(options.device, (list, tuple)) else [options.device]
        _check_counts(sources, count)
        pool = [device_for(source, options.ftl) for source in sources]
        self.devices = [pool[i % len(pool)] for i in range(count)]
        several = isinstance(options.workload, (list, tuple))
        self.workloads = [load_workload(w) for w in (options.workload if several else [options.workload])]
        _check_workloads(self.workloads)
        self.policies = [get_policy(name) for name in options.proposers]
        _check_proposers(self.policies, pool)
        list_all = options.candidates == "all"
        self.candidates = _places(pool) if list_all else int(options.candidates)
        timed = any(device.ftl.timing == "event" for device in pool)
        kept = min(4 * options.horizon, Recording.latencies)
        recording = Recording(kept, 1024) if timed else Recording(1, 1)
        self.batch = Batch(
            self.devices, self.policies, self.candidates, list_all, options.most_blocks, recording
        )
        self.state, self.view, self.status = self.batch.state, self.batch.view, self.batch.status
        self.reward = Reward(self.devices, options.objective)
        self._check_pace()
        self._actions = np.full(count, -1, np.int64)
        self._streams: list[RequestStream | None] = [None] * count
        #: Seed that repeats the episode of each device.
        self.seeds = np.zeros(count, np.int64)
        #: Which devices are in the unmeasured part of their episode, and whose episode has reached its
        #: horizon.
        self._settling = np.zeros(count, bool)
        self.over = np.zeros(count, bool)
        #: By (kind of device, workload); device ``i`` is of kind ``i % self._kinds``.
        self._aged: dict[tuple[int, int], State] = {}
        self._kinds = len(pool)
        self._all = np.arange(count)

    def _check_pace(self) -> None:
        """Refuse to reward latencies where every request of a workload arrives at the same instant."""
        timed_terms = {"latency", "tail"} & set(self.reward.objective)
        open_loop = any(device.ftl.queue_depth == 0 for device in self.devices)
        paceless = [w.kind for w in self.workloads if getattr(w, "interarrival_ns", None) == 0]
        if timed_terms and open_loop and paceless:
            raise SsdgymError(
                f"objective.{min(timed_terms)} means nothing where the requests of workload {paceless[0]} "
                "all arrive at once; set ftl.queue_depth (a closed loop) or the workload's interarrival_ns."
            )

    # -- episodes

    def start(self, which: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in each device of ``which`` and run it to its first decision.

        An episode is a function of its seed: of the workload's draws, the choice among several workloads, and
        the device's own random draws.
        """
        for i, seed in zip(which, seeds, strict=True):
            if not 0 <= seed < 2**63:
                raise SsdgymError(f"seed {seed} of environment {i} must be from 0 to 2**63 - 1.")
            self._restore(i, int(seed))
        self._run(np.asarray(which, np.int64), self._actions_none)

    def _restore(self, i: int, seed: int) -> None:
        number = self._draw_workload(seed)
        self.batch.place(i, self._aged_device(i, number), seed)
        device = self.devices[i]
        self._streams[i] = open_workload(
            self.workloads[number],
            logical_pages=device.logical_pages,
            page_size=device.host_unit_bytes,
            seed=seed,
        )
        self.seeds[i] = seed
        self._settling[i] = self.options.settling > 0
        self.over[i] = False
        self.batch.set_horizon(i, self.options.settling or self.options.horizon)
        self.reward.start(self.state, i)

    def _draw_workload(self, seed: int) -> int:
        """Which of the workloads the episode of a seed plays."""
        if len(self.workloads) == 1:
            return 0
        return int(np.random.default_rng([seed, 1]).integers(len(self.workloads)))

    def _aged_device(self, i: int, number: int) -> State:
        """The aged start of a device under a workload, made once."""
        device = self.devices[i]
        key = (i % self._kinds, number)
        if key not in self._aged:
            sim = Simulator(device, policy=None, recording=Recording(1, 1))
            sim.precondition(self.workloads[number], seed=self.options.ageing_seed)
            self._aged[key] = copy_device(sim.state, 0)
        return self._aged[key]

    # -- stepping

    @property
    def _actions_none(self) -> np.ndarray:
        self._actions[:] = -1
        return self._actions

    def _take_actions(self, actions: np.ndarray) -> None:
        """Keep a batch of actions, or refuse it if one is not a valid candidate; nothing has happened then.

        Raises:
            SsdgymError: naming the environment and the action.
        """
        if actions.dtype.kind not in "iu":
            raise SsdgymError(f"actions must be whole numbers of 64 bits, not {actions.tolist()!r:.60}.")
        if actions.shape != self.status.shape:
            raise SsdgymError(
                f"step was given actions of shape {actions.shape}; "
                f"give one for each of the {len(self.status)} environments."
            )
        self._actions[:] = actions
        i = self.batch.first_invalid(self._actions)
        if i >= 0:
            allowed = np.flatnonzero(self.view.mask[i]).tolist()
            raise SsdgymError(
                f"action {actions[i]} of environment {i} is outside the action mask; choose one of {allowed}."
            )

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Carry out one decision per device; returns rewards (n,) and the terms they are made of.

        ``over`` tells which episodes have ended; the view then shows the state at their horizon.
        """
        self._take_actions(actions)
        self._run(self._all, self._actions)
        reward, terms = self.reward.take(self.state)
        if self._settling.any():
            reward[self._settling] = 0.0
            for term in terms.values():
                term[self._settling] = 0.0
        return reward, terms

    def _run(self, which: np.ndarray, actions: np.ndarray) -> None:
        """Advance devices to their next decision or to the end of their episode."""
        while True:
            if not self.batch.step(which, actions):
                return
            hungry, ended = self.batch.stopped(which)
            which = np.concatenate([hungry, ended[[self._end_settling(i) for i in ended]]])
            if not len(which):
                return
            for i in hungry:
                self._refill(int(i))
            actions = self._actions_none

    def _end_settling(self, i: int) -> bool:
        """A device at its horizon: if it was settling, the measured part begins; else its episode is over."""
        if not self._settling[i]:
            self.over[i] = True
            return False
        self._settling[i] = False
        self.batch.reset_metrics(i)
        self.batch.set_horizon(i, self.options.horizon)
        self.reward.start(self.state, i)
        return True

    def _refill(self, i: int) -> None:
        """The next chunk of a device's workload."""
        stream = self._streams[i]
        assert stream is not None, "an episode has been started"
        chunk = stream.next(CHUNK)
        if not len(chunk):
            raise SsdgymError(
                f"workload {self.options.workload!r} ended before the episode's {self.options.horizon} host "
                "pages were written; give it more requests or loops, or shorten the horizon."
            )
        self.batch.feed(i, chunk)

    # -- looking

    def metrics(self, i: int) -> dict[str, Any]:
        """The metrics of device ``i`` since its measured part began."""
        return self.batch.metrics(i)

    def observe_again(self) -> None:
        """Write the view anew. Observing is pure, so this changes nothing."""
        self.batch.observe()


def _places(devices: list[DeviceConfig]) -> int:
    """Erase sets of a plane when all are listed."""
    most = 0
    for device in devices:
        s = device.geometry.sub_blocks_per_block
        sets = {"block": 1, "sub_block_run": s * (s + 1) // 2, "sub_block_set": 2**s - 1}[device.erase_unit]
        most = max(most, device.geometry.blocks_per_plane * sets)
    if most > _MOST_CANDIDATES:
        raise SsdgymError(
            f"candidates='all' would list {most} erase sets of a plane; at most {_MOST_CANDIDATES} are "
            "possible, so give a number of candidates."
        )
    return most


def _check_counts(sources: Sequence[Any], count: int) -> None:
    if not sources:
        raise SsdgymError("device names none; give at least one.")
    if not is_whole(count) or count < 1:
        raise SsdgymError(f"num_envs must be a whole number from 1 up, not {count!r}.")


def _check(options: Options) -> None:
    for name, least in (("horizon", 1), ("settling", 0)):
        value = getattr(options, name)
        if not is_whole(value) or not least <= value < _LONGEST_EPISODE:
            raise SsdgymError(f"{name} must be a whole number of host pages from {least} up, not {value!r}.")
    if not is_whole(options.ageing_seed) or not 0 <= options.ageing_seed < 2**63:
        raise SsdgymError(f"ageing_seed must be from 0 to 2**63 - 1, not {options.ageing_seed!r}.")
    if not options.proposers:
        raise SsdgymError("proposers must name at least one policy.")
    wanted = options.candidates
    if wanted == "all":
        return
    if isinstance(wanted, str) or not is_whole(wanted):
        raise SsdgymError(f"candidates must be a number or 'all', not {wanted!r}.")
    if not len(options.proposers) <= wanted <= _MOST_CANDIDATES:
        raise SsdgymError(
            f"candidates must be from {len(options.proposers)} (one for each proposer) to "
            f"{_MOST_CANDIDATES}, not {wanted}."
        )


def _check_proposers(policies: list[Policy], devices: list[DeviceConfig]) -> None:
    """Refuse a proposer whose sets the device cannot erase, or that counts on another placement."""
    for policy in policies:
        for device in devices:
            wanted = policy.adapt(device)
            for field, has, asks in (
                ("erase_unit", device.erase_unit, wanted.erase_unit),
                ("multi_plane", device.multi_plane, wanted.multi_plane),
                (
                    "ftl.placement",
                    getattr(device.ftl, "placement", None),
                    getattr(wanted.ftl, "placement", None),
                ),
            ):
                if has != asks:
                    raise SsdgymError(
                        f"proposers name {policy.label}, which needs {field} {asks}, and device "
                        f"{device.name} has {has}; choose {_proposer_instead(policy, device)}, or a device "
                        "or ftl that has it."
                    )


def _proposer_instead(policy: Policy, device: DeviceConfig) -> str:
    """The policy's rule alone, where that takes the device as it is."""
    rule = Policy(policy.victim)
    fits = rule.erase_unit in (None, device.erase_unit) and rule.multi_plane in (None, device.multi_plane)
    return rule.label if fits else "another proposer"


def _check_workloads(workloads: list[Any]) -> None:
    if not workloads:
        raise SsdgymError("workload names none; give at least one.")
    for config in workloads:
        # A finite generated workload runs out by itself, and says so then.
        if (config.is_endless or isinstance(config, PlayedConfig)) and config.writes_nothing():
            raise SsdgymError(f"workload {config.kind} writes nothing, so no episode would end.")
