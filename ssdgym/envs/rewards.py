"""Reward: registered terms, weighted by the objective; each is minus what counters rose by, in a stated unit.

Every term is additive, so the undiscounted return of an episode is exactly minus the episode's total in that
unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import COUNTERS
from ssdgym.errors import SsdgymError

#: Entry points of installed packages; loading one has to register its terms.
ENTRY_POINT_GROUP = "ssdgym.reward_terms"
#: What one count of each counter costs on a device.
Costs = Callable[[DeviceConfig], Mapping[str, float]]


@dataclass(frozen=True)
class Term:
    """A term that an objective may weigh.

    Attributes:
        name: by which objectives have it.
        meaning: what it counts and the unit of it.
        costs: function of a device; returns what one count of each counter costs there.
        needs_time: whether it is always 0 on devices without time.
    """

    name: str
    meaning: str
    costs: Costs
    needs_time: bool = False

    def costs_on(self, devices: Sequence[DeviceConfig]) -> dict[str, np.ndarray]:
        """Return what one count of each counter costs on every device, float64 (n,) by counter.

        Raises:
            SsdgymError: the term counts what the engine does not.
        """
        costs = [self.costs(device) for device in devices]
        for counter in costs[0]:
            if counter not in (COUNTERS.names or ()):
                raise SsdgymError(
                    f"the reward term {self.name} counts {counter!r}; "
                    f"the engine counts {', '.join(COUNTERS.names or ())}."
                )
        return {counter: np.array([cost[counter] for cost in costs], np.float64) for counter in costs[0]}


#: The registered terms by name.
TERMS: dict[str, Term] = {}


def reward_term(name: str, meaning: str, *, needs_time: bool = False) -> Callable[[Costs], Costs]:
    """Register the decorated function as a term.

    The function takes a device and returns what one count of each counter
    (`ssdgym.engine.core.records.COUNTERS`) costs there, the same counters on every device; the term is minus
    the sum.

    Args:
        name: by which objectives have it.
        meaning: what it counts and the unit of it.
        needs_time: whether it is always 0 on devices without time, whose environments then refuse it.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a term of this name.
    """

    def register(costs: Costs) -> Costs:
        known = TERMS.get(name)
        if known is not None and known.costs.__module__ != costs.__module__:
            raise SsdgymError(
                f"the reward term {name} is registered already by {known.costs.__module__}; "
                "choose another name."
            )
        TERMS[name] = Term(name, meaning, costs, needs_time)
        return costs

    return register


@reward_term("relocations", "pages relocated, in blocks")
def _relocations(device: DeviceConfig) -> dict[str, float]:
    return {"relocated_pages": 1 / device.geometry.pages_per_block}


@reward_term("latency", "summed latency of finished reads and writes, in page programs", needs_time=True)
def _latency(device: DeviceConfig) -> dict[str, float]:
    program = 1 / max(device.timing.program_ns, 1)
    return {"read_latency_sum_ns": program, "write_latency_sum_ns": program}


@reward_term("tail", "finished requests slower than a program and an erase", needs_time=True)
def _tail(device: DeviceConfig) -> dict[str, float]:
    return {"slow_requests": 1.0}


@reward_term("wear", "blocks erased")
def _wear(device: DeviceConfig) -> dict[str, float]:
    return {"erased_sub_blocks": 1 / device.geometry.sub_blocks_per_block}


@reward_term("energy", "energy of relocations and erases, in relocations of a block")
def _energy(device: DeviceConfig) -> dict[str, float]:
    move_uj = device.energy.read_uj + device.energy.program_uj
    block_uj = (move_uj if move_uj > 0 else 1.0) * device.geometry.pages_per_block
    return {
        "relocated_pages": move_uj / block_uj,
        "erased_sub_blocks": device.energy.erase_uj / device.geometry.sub_blocks_per_block / block_uj,
    }


def _load_plugins() -> None:
    for plugin in entry_points(group=ENTRY_POINT_GROUP):
        plugin.load()


class Reward:
    """Turns the counters of devices into rewards.

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
        self._check(devices)
        self._costs = {name: TERMS[name].costs_on(devices) for name in self.objective}
        self._totals = {name: np.zeros(len(devices)) for name in self.objective}

    def _check(self, devices: Sequence[DeviceConfig]) -> None:
        if not self.objective:
            raise SsdgymError(f"objective names no term; choose among {', '.join(TERMS)}.")
        for name, weight in self.objective.items():
            if name not in TERMS:
                _load_plugins()
            if name not in TERMS:
                raise SsdgymError(f"objective has the unknown term {name!r}; it may have {', '.join(TERMS)}.")
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not np.isfinite(weight):
                raise SsdgymError(f"objective.{name} must be a number, not {weight!r}.")
            if TERMS[name].needs_time and any(d.ftl.timing == "none" for d in devices):
                raise SsdgymError(f"objective.{name} needs time, but ftl.timing is none; set it to event.")

    @property
    def timed_terms(self) -> list[str]:
        """The terms of the objective that need time, by name."""
        return sorted(name for name in self.objective if TERMS[name].needs_time)

    def _total(self, term: str, counter: Callable[[str], np.ndarray]) -> np.ndarray:
        """Return what a term has cost since the metrics were reset, float64 (n,)."""
        total = np.zeros(len(self._totals[term]))
        for name, cost in self._costs[term].items():
            total += counter(name) * cost
        return total

    def start(self, counter: Callable[[str], np.ndarray], i: int) -> None:
        """Count from where device `i` stands now.

        Args:
            counter: returns a counter of every device, int64 (n,).
            i: number of the device.
        """
        for name, total in self._totals.items():
            total[i] = self._total(name, counter)[i]

    def take(self, counter: Callable[[str], np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the rewards since the last call, and the unweighted terms that make them up.

        Args:
            counter: returns a counter of every device, int64 (n,).

        Returns:
            float64 (n,), and the same for each term.
        """
        reward = np.zeros(len(next(iter(self._totals.values()))))
        terms = {}
        for name, weight in self.objective.items():
            total = self._total(name, counter)
            terms[name] = self._totals[name] - total
            self._totals[name] = total
            reward += weight * terms[name]
        return reward, terms
