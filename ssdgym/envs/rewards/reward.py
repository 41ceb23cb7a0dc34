"""Rewards: terms weighted by the objective, centred on what a baseline pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.envs.rewards.scale import PLAIN, Scale
from ssdgym.envs.rewards.terms import Measure, Totals, find_term, known_terms
from ssdgym.envs.rewards.totals import CountedTotals
from ssdgym.errors import SsdgymError


class Reward:
    """Turns what devices count into rewards.

    Args:
        devices: their configurations.
        objective: weight of each term; terms left out weigh nothing.

    Raises:
        SsdgymError: an unknown term, a weight that is not a finite number, or a term the devices cannot tell.
    """

    def __init__(self, devices: Sequence[DeviceConfig], objective: Mapping[str, float]) -> None:
        if not isinstance(objective, Mapping):
            raise SsdgymError(f"objective must be a mapping of terms to weights, not {objective!r}.")
        self.objective = dict(objective)
        self._timed_terms = self._check(devices)
        self._measures = self._measures_on(devices)
        self._totals = {name: np.zeros(len(devices)) for name in self.objective}
        self._won = np.zeros(len(devices), np.int64)
        self._price = np.full(len(devices), PLAIN.price)
        self._unit = np.full(len(devices), PLAIN.unit)
        self._pays = False

    def _check(self, devices: Sequence[DeviceConfig]) -> list[str]:
        """Return the names of the terms that need time."""
        if not self.objective:
            raise SsdgymError(f"objective names no term; choose among {', '.join(known_terms())}.")
        timed = []
        for name, weight in self.objective.items():
            needs_time = find_term(name).needs_time
            if (
                isinstance(weight, bool)
                or not isinstance(weight, (int, float, np.number))
                or not np.isfinite(weight)
            ):
                raise SsdgymError(f"objective.{name} must be a number, not {weight!r}.")
            if needs_time and any(d.ftl.timing == "none" for d in devices):
                raise SsdgymError(f"objective.{name} needs time, but ftl.timing is none; set it to event.")
            timed += [name] if needs_time else []
        return sorted(timed)

    def _measures_on(self, devices: Sequence[DeviceConfig]) -> dict[str, Measure]:
        return {name: find_term(name).on(devices) for name in self.objective}

    @property
    def timed_terms(self) -> list[str]:
        """The terms of the objective that need time, by name."""
        return self._timed_terms

    def cost_on(self, devices: Sequence[DeviceConfig]) -> Measure:
        """Return what tells the cost of devices since their metrics were reset, by the objective."""
        return partial(_weighted, self.objective, self._measures_on(devices))

    def start(self, totals: CountedTotals, i: int, scale: Scale | None = None) -> None:
        """Count from where device `i` stands now.

        Args:
            totals: of all devices.
            i: number of the device.
            scale: of its rewards from now on; None leaves it.
        """
        for name, total in self._totals.items():
            total[i] = self._measures[name](totals)[i]
        if scale is not None:
            self._price[i], self._unit[i] = scale.price, scale.unit
            self._pays = bool(self._price.any())
        self._won[i] = self._pages_won(totals)[i]

    def _pages_won(self, totals: CountedTotals) -> np.ndarray:
        """Return the pages won where they are paid for; devices of other families count none."""
        return totals.pages_won() if self._pays else np.zeros(len(self._won), np.int64)

    def take(self, totals: CountedTotals) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the rewards since the last call, and the unweighted terms that make them up.

        Args:
            totals: of all devices.

        Returns:
            float64 (n,), and the same for each term.
        """
        reward = np.zeros(len(self._won))
        terms = {}
        for name, weight in self.objective.items():
            total = self._measures[name](totals)
            terms[name] = self._totals[name] - total
            self._totals[name] = total
            reward += weight * terms[name]
        if self._pays:
            won = self._pages_won(totals)
            reward += self._price * (won - self._won)
            self._won = won
        return reward / self._unit, terms


def _weighted(objective: Mapping[str, float], measures: Mapping[str, Measure], totals: Totals) -> np.ndarray:
    """Return the sum of what measures tell, each by its weight, float64 (n,)."""
    return sum(
        (weight * measures[name](totals) for name, weight in objective.items()), np.zeros(len(totals.devices))
    )
