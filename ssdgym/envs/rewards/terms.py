"""The terms of rewards: each is minus the rise of a cost, in a stated unit.

A cost is a sum over counters, or any function of counters and latencies. The rises of an episode add up, so
the undiscounted return of a term is exactly minus the episode's cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import family_of

#: Entry points of installed packages; loading one has to register its terms.
ENTRY_POINT_GROUP = "ssdgym.reward_terms"
#: What one count of each counter costs on a device.
Costs = Callable[[DeviceConfig], Mapping[str, float]]


class Totals(Protocol):
    """What devices have counted since their metrics were reset."""

    @property
    def devices(self) -> Sequence[DeviceConfig]:
        """Their configurations, n of them."""

    def counter(self, name: str) -> np.ndarray:
        """Return a counter, of all devices or of their FTL family, int64 (n,)."""

    def latency_quantile(self, share: float) -> np.ndarray:
        """Return a quantile of the latencies of reads and writes, ns, float64 (n,); 0 where there are none.

        Args:
            share: of the requests that are at most as slow, such as 0.99.
        """


#: What devices have cost since their metrics were reset, (n,).
Measure = Callable[[Totals], np.ndarray]


@dataclass(frozen=True)
class Term:
    """A term that an objective may weigh.

    Attributes:
        name: by which objectives have it.
        meaning: what it counts and the unit of it.
        on: function of devices; returns the measure of what they have cost.
        needs_time: whether it is always 0 on devices without time.
        module: that has registered it.
    """

    name: str
    meaning: str
    on: Callable[[Sequence[DeviceConfig]], Measure]
    needs_time: bool = False
    module: str = ""


#: The registered terms by name.
TERMS: dict[str, Term] = {}


def reward_term(name: str, meaning: str, *, needs_time: bool = False) -> Callable[[Costs], Costs]:
    """Register the decorated function as a term that is a sum over counters.

    The function takes a device and returns what one count of each counter
    (`ssdgym.engine.core.records.COUNTERS`, and those of its FTL family) costs there, the same counters on
    every device; the term is minus the sum.

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
        _add(Term(name, meaning, lambda devices: _sum(name, costs, devices), needs_time, costs.__module__))
        return costs

    return register


def reward_measure(name: str, meaning: str, *, needs_time: bool = False) -> Callable[[Measure], Measure]:
    """Register the decorated function as a term that is any function of counters and latencies.

    The function takes the `Totals` of n devices since their episodes began and returns what they have cost,
    float64 (n,). The term is minus its rise from decision to decision.

    Args:
        name: by which objectives have it.
        meaning: what it measures and the unit of it.
        needs_time: whether it is always 0 on devices without time, whose environments then refuse it.

    Returns:
        The decorator; the function stays as it is.

    Raises:
        SsdgymError: another module has registered a term of this name.
    """

    def register(measure: Measure) -> Measure:
        _add(Term(name, meaning, lambda devices: measure, needs_time, measure.__module__))
        return measure

    return register


def _add(term: Term) -> None:
    known = TERMS.get(term.name)
    if known is not None and known.module != term.module:
        raise SsdgymError(
            f"the reward term {term.name} is registered already by {known.module}; choose another name."
        )
    TERMS[term.name] = term


def _sum(name: str, costs: Costs, devices: Sequence[DeviceConfig]) -> Measure:
    """Return the measure that sums up what counters cost."""
    each = [costs(device) for device in devices]
    for mapping, device in {device.ftl.mapping: device for device in devices}.items():
        known = family_of(device).counter_names()
        for counter in each[0]:
            if counter not in known:
                raise SsdgymError(
                    f"the reward term {name} counts {counter!r}; devices of ftl.mapping {mapping} count "
                    f"{', '.join(known)}."
                )
    return CounterSum(
        {counter: np.array([cost[counter] for cost in each], np.float64) for counter in each[0]}
    )


@dataclass(frozen=True)
class CounterSum:
    """The measure that sums up what counters cost.

    Attributes:
        per_count: what one count of each costs, float64 (n,).
    """

    per_count: Mapping[str, np.ndarray]

    def __call__(self, totals: Totals) -> np.ndarray:
        """Return what devices have cost, float64 (n,)."""
        total = np.zeros(len(totals.devices))
        for counter, cost in self.per_count.items():
            total += totals.counter(counter) * cost
        return total


def known_terms() -> list[str]:
    """Return the names of all terms registered so far."""
    return list(TERMS)


def find_term(name: str) -> Term:
    """Return a term by name, of installed packages if need be.

    Raises:
        SsdgymError: there is none of the name.
    """
    if name not in TERMS:
        for plugin in entry_points(group=ENTRY_POINT_GROUP):
            plugin.load()
    if name not in TERMS:
        raise SsdgymError(f"objective has the unknown term {name!r}; it may have {', '.join(TERMS)}.")
    return TERMS[name]


@reward_term("relocations", "pages relocated, in blocks")
def _relocations(device: DeviceConfig) -> dict[str, float]:
    return {"relocated_pages": 1 / (device.geometry.pages_per_block * device.units_per_page)}


@reward_term("latency", "summed latency of finished reads and writes, in page programs", needs_time=True)
def _latency(device: DeviceConfig) -> dict[str, float]:
    program = 1 / max(device.timing.program_ns, 1)
    return {"read_latency_sum_ns": program, "write_latency_sum_ns": program}


@reward_term("tail", "finished requests slower than a program and an erase", needs_time=True)
def _tail(device: DeviceConfig) -> dict[str, float]:
    return {"slow_requests": 1.0}


@reward_measure("p99", "99th percentile of the latencies so far, in page programs", needs_time=True)
def _p99(totals: Totals) -> np.ndarray:
    program = np.array([max(device.timing.program_ns, 1) for device in totals.devices])
    return totals.latency_quantile(0.99) / program


@reward_term("levelling", "rise of the sum of squared erase counts, in those of a block: worn ones cost more")
def _levelling(device: DeviceConfig) -> dict[str, float]:
    return {"erase_square_rise": 1 / device.geometry.sub_blocks_per_block}


@reward_term("wear", "blocks erased")
def _wear(device: DeviceConfig) -> dict[str, float]:
    return {"erased_sub_blocks": 1 / device.geometry.sub_blocks_per_block}


@reward_term("energy", "energy of relocations and erases, in relocations of a block")
def _energy(device: DeviceConfig) -> dict[str, float]:
    if not family_of(device).counts_causes:
        raise SsdgymError(
            f"objective.energy: devices of ftl.mapping {device.ftl.mapping}, such as {device.name}, do not "
            "count for whom they program; choose flash_time or wear."
        )
    move_uj = device.energy.read_uj + device.energy.program_uj
    block_uj = (move_uj if move_uj > 0 else 1.0) * device.geometry.pages_per_block
    return {
        "relocated_pages": move_uj / block_uj,
        "erased_sub_blocks": device.energy.erase_uj / device.geometry.sub_blocks_per_block / block_uj,
    }
