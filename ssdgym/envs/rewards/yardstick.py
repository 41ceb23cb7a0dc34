"""What the rewards of devices are held against in their episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.envs.options import Options
from ssdgym.envs.rewards.paired import Twins
from ssdgym.envs.rewards.scale import Baseline, Scale, parse_scale
from ssdgym.envs.rewards.terms import Measure
from ssdgym.workloads.base import WorkloadConfig


class Yardstick:
    """The scales of rewards, and the twins of devices where rewards are paired.

    Args:
        options: arguments of the environment.
        devices: n of them.
        kinds: device `i` is made as device `i % kinds` is.
        workloads: that episodes play.
        cost_on: returns what tells the cost of devices.

    Raises:
        SsdgymError: the argument `reward` means nothing, or its policy does not run on a device.
    """

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
        """Begin an episode of a device, and return how its rewards are scaled.

        Args:
            i: number of the device.
            number: of the workload.
            seed: of the episode.
        """
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
        """Take off what twins have earned since the last call, where there are some.

        Args:
            rewards: float64 (n,).
            host_pages: returns those of every device since the measured part of its episode began, (n,).
        """
        if self._twins is not None:
            rewards -= self._twins.take(host_pages())
