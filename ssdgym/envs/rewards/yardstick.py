"""What the rewards of devices are held against in their episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig, PreconditioningConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.core.status import END_OF_LIFE, HORIZON, INPUT_ENDED
from ssdgym.envs.decisions import Options
from ssdgym.envs.rewards.reward import Baseline, Scale, parse_scale
from ssdgym.envs.rewards.terms import Measure, Totals
from ssdgym.envs.sources import AtEnd, open_episode, steady_simulator
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import placement_of
from ssdgym.requests import REQUEST, Requests
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import copy_device, restore_device
from ssdgym.simulator.cells import begin_life
from ssdgym.simulator.input import portions_of
from ssdgym.workloads.base import WorkloadConfig

#: The earnings of a twin are known so often while the host writes its logical pages once.
_POINTS = 32
_NOTHING = np.zeros(0, REQUEST)


class Twin:
    """A device that a policy runs through the episodes of another one, portion by portion of the requests.

    Raises:
        SsdgymError: the policy does not run on the device, or decides in Python.
    """

    def __init__(
        self,
        device: DeviceConfig,
        policy: str,
        how: PreconditioningConfig,
        seed: int,
        cost_on: Callable[[Sequence[DeviceConfig]], Measure],
        steady: dict[int, State],
    ) -> None:
        self._made_of = device, policy, how, seed
        self._simulator = Simulator(device, policy=policy, recording=Recording(1, 1))
        own = self._simulator.policy
        if own is None or not own.main.compiled:
            raise SsdgymError(f"reward.paired: policy {policy} decides in Python; name a compiled one.")
        device, state = self._simulator.device, self._simulator.arrays
        placement = placement_of(device)
        if placement is not None and placement.oracle:
            raise SsdgymError(
                f"reward.paired: policy {policy} uses the future, which environments do not tell; name "
                "another one."
            )
        self._totals = Totals.of(device, state)
        self._cost, self._steady = cost_on([device]), steady
        self._span = max(device.logical_pages // _POINTS, 1)

    def begin(
        self,
        number: int,
        workload: WorkloadConfig,
        seed: int,
        at_end: AtEnd,
        lengths: tuple[int, int],
        scale: Scale,
    ) -> None:
        """Begin an episode and play the part of it that is not measured."""
        simulator = self._simulator
        restore_device(simulator.arrays, 0, self._steady_under(number, workload))
        simulator.arrays.params["seed"][0] = seed
        begin_life(simulator.arrays, 0, simulator.device)
        simulator.feed(_NOTHING)
        self._requests = open_episode(workload, simulator.device, seed, at_end)
        self._portions: list[Requests] = []
        self._scale, self._hungry, self._over = scale, True, False
        warmup, horizon = lengths
        if warmup:
            simulator.set_horizon(warmup)
            while not self._advance():
                pass
            simulator.reset_metrics()
        simulator.set_horizon(horizon)
        self._before = float(self._cost(self._totals)[0])

    def _steady_under(self, number: int, workload: WorkloadConfig) -> State:
        if number not in self._steady:
            device, policy, how, seed = self._made_of
            self._steady[number] = copy_device(
                steady_simulator(device, policy, workload, how, seed).arrays, 0
            )
        return self._steady[number]

    def go_on(self) -> tuple[float, float] | None:
        """Play a little further; return the host pages of the episode so far, and what was earned by them.

        None stands for the end of the episode.
        """
        if self._over:
            return None
        self._over = self._advance()
        pages = float(self._totals.counter("host_pages_written")[0])
        won, cost = float(self._totals.pages_won()[0]), float(self._cost(self._totals)[0]) - self._before
        return pages, (self._scale.price * won - cost) / self._scale.unit

    def _advance(self) -> bool:
        """Play a portion, or what is left of one; return whether the episode is over."""
        if self._hungry:
            if not self._portions:
                self._portions = list(portions_of(iter([self._requests.next()]), self._span))
            if not self._portions:
                return True
            self._simulator.feed(self._portions.pop(0))
        # More is to follow, whatever the device would do at the end: neither of the two has such a notice.
        kind = self._simulator.advance(last=False)
        self._hungry = kind == INPUT_ENDED
        return kind in (HORIZON, END_OF_LIFE)


class Twins:
    """The twins of n devices, each as far in its episode as its device is.

    Between points that lie a 32nd of the logical pages apart what a twin has earned is interpolated by host
    pages, so it is exact at these points and at the end of the episode.
    """

    def __init__(
        self,
        devices: Sequence[DeviceConfig],
        kinds: int,
        policy: str,
        how: PreconditioningConfig,
        seed: int,
        cost_on: Callable[[Sequence[DeviceConfig]], Measure],
    ) -> None:
        steady: list[dict[int, State]] = [{} for _ in range(kinds)]
        self._twins = [
            Twin(device, policy, how, seed, cost_on, steady[i % kinds]) for i, device in enumerate(devices)
        ]
        count = len(devices)
        #: Host pages and earnings of every twin at its last two points; up to the second it is known.
        self._from, self._to = np.zeros((2, count)), np.zeros((2, count))
        self._told = np.zeros(count)
        self.pause(range(count))

    def pause(self, which: Sequence[int]) -> None:
        """Let the twins of some devices earn nothing until their next episode begins."""
        for point in (self._from, self._to):
            point[:, which] = 0.0
        self._to[0, which] = np.inf
        self._told[which] = 0.0

    def begin(self, i: int, *episode: Any) -> None:
        """Begin the measured part of an episode of twin `i`, as `Twin.begin` takes it."""
        self._twins[i].begin(*episode)
        self._from[:, i] = self._to[:, i] = 0.0
        self._told[i] = 0.0

    def take(self, host_pages: np.ndarray) -> np.ndarray:
        """Return what the twins have earned since the last call, at these host pages (n,), float64 (n,)."""
        for i in np.flatnonzero(host_pages > self._to[0]):
            self._follow(int(i), float(host_pages[i]))
        pages = self._to[0] - self._from[0]
        share = np.divide(host_pages - self._from[0], pages, out=np.zeros_like(pages), where=pages > 0)
        earned = self._from[1] + np.minimum(share, 1.0) * (self._to[1] - self._from[1])
        rise, self._told = earned - self._told, earned
        return rise

    def _follow(self, i: int, host_pages: float) -> None:
        """Play a twin on to a point beyond some host pages, or to the end of its episode."""
        while self._to[0, i] < host_pages:
            point = self._twins[i].go_on()
            if point is None:
                # nothing follows; what is beyond earns as little as what is at the end
                self._from[:, i] = self._to[:, i]
                return
            self._from[:, i] = self._to[:, i]
            self._to[:, i] = point


class Yardstick:
    """The scales of rewards, and the twins of devices where rewards are paired."""

    def __init__(
        self,
        options: Options,
        devices: Sequence[DeviceConfig],
        kinds: int,
        workloads: Sequence[WorkloadConfig],
        cost_on: Callable[[Sequence[DeviceConfig]], Measure],
    ) -> None:
        self._options, self._devices, self._kinds = options, devices, kinds
        self._workloads, self._cost_on = workloads, cost_on
        self._scale = parse_scale(options.default_reward if options.reward is None else options.reward)
        #: Scales by (place among the kinds, workload), measured once.
        self._scales: dict[tuple[int, int], Scale] = {}
        #: Workload and seed of the episode of each device.
        self._episodes = [(0, 0)] * len(devices)
        self._twins: Twins | None = None
        if isinstance(self._scale, Baseline) and self._scale.paired:
            how, seed = options.how_preconditioned, options.preconditioning_seed
            self._twins = Twins(devices, kinds, self._scale.policy, how, seed, cost_on)

    def begin(self, i: int, number: int, seed: int) -> Scale:
        """Begin an episode of device `i`, of a workload's number; return how its rewards are scaled."""
        self._episodes[i] = (number, seed)
        if self._twins is not None:
            self._twins.pause([i])
        return self._scale_of(i, number)

    def _scale_of(self, i: int, number: int) -> Scale:
        if isinstance(self._scale, Scale):
            return self._scale
        key = (i % self._kinds, number)
        if key not in self._scales:
            self._scales[key] = self._scale.scale_on(
                self._devices[i],
                self._workloads[number],
                self._options.how_preconditioned,
                self._options.preconditioning_seed,
                self._cost_on,
            )
        return self._scales[key]

    def measure(self, i: int) -> None:
        """Begin the measured part of the episode of a device."""
        if self._twins is None:
            return
        number, seed = self._episodes[i]
        options = self._options
        lengths = (options.warmup, options.horizon)
        workload, scale = self._workloads[number], self._scale_of(i, number)
        self._twins.begin(i, number, workload, seed, options.at_end, lengths, scale)

    def take_off(self, rewards: np.ndarray, host_pages: Callable[[], np.ndarray]) -> None:
        """Take off what twins have earned since the last call, where there are some."""
        if self._twins is not None:
            rewards -= self._twins.take(host_pages())
