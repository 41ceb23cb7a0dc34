"""The terms of rewards: each is minus the rise of a cost, in a stated unit.

A cost is a sum over counters, or any function of counters and latencies. The rises of an episode add up, so
the undiscounted return of a term is exactly minus the episode's cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.engine.time.transactions import bin_middles
from ssdgym.errors import SsdgymError
from ssdgym.own_code import plugins_of
from ssdgym.simulator.families import family_of

_MIDDLES = bin_middles()
#: A counter that counts nothing.
_NOTHING = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Totals:
    """What n devices have counted since their metrics were reset; it changes with them.

    Attributes:
        devices: their configurations.
        counter: returns a counter of every device, int64 (n,).
        histogram: returns the latencies of reads and writes by log-spaced bins, int64 (n, 2, bins).
    """

    devices: Sequence[DeviceConfig]
    counter: Callable[[str], np.ndarray]
    histogram: Callable[[], np.ndarray]

    @classmethod
    def of(cls, device: DeviceConfig, state: State) -> Totals:
        """Return those of one device, the first of a batch."""
        return cls(
            [device],
            partial(family_of(device).counter, state),
            partial(getattr, state, "histogram"),
        )

    def latency_quantile(self, share: float) -> np.ndarray:
        """Return a quantile of the latencies of reads and writes, ns, float64 (n,); 0 where there are none.

        It is exact to the width of a bin, 0.8 %.

        Args:
            share: of the requests that are at most as slow, such as 0.99.
        """
        finished = self.histogram().sum(axis=1).cumsum(axis=1)
        requests = finished[:, -1:]
        found = (finished < np.ceil(share * requests)).sum(axis=1)
        return np.where(requests[:, 0] > 0, _MIDDLES[np.minimum(found, len(_MIDDLES) - 1)], 0.0)

    def pages_won(self) -> np.ndarray:
        """Return how many pages collection has won: those erased less those relocated, int64 (n,).

        On devices that win room without an erase, or erase what holds nothing, they are the pages that the
        host has written.
        """
        won = self.counter("erased_sub_blocks") * self._sub_block_pages - self.counter("relocated_pages")
        return self._by_host_pages(won)

    def rounds(self) -> np.ndarray:
        """Return how many rounds of collection have won them, int64 (n,); without erases, too: them."""
        return self._by_host_pages(self.counter("gc_invocations"))

    def winning(self, address: Callable[[str], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return addresses of what wins and what takes pages, (2, n), and the pages of a win, (n,)."""
        erases = self._wins_by_erases
        wins = np.where(erases, address("erased_sub_blocks"), address("host_pages_written"))
        takes = np.where(erases, address("relocated_pages"), _NOTHING.ctypes.data)
        return np.array([wins, takes]), np.where(erases, self._sub_block_pages, 1)

    def _by_host_pages(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers, but on devices that win room without an erase the pages of the host."""
        if self._wins_by_erases.all():
            return numbers
        return np.where(self._wins_by_erases, numbers, self.counter("host_pages_written"))

    @cached_property
    def _wins_by_erases(self) -> np.ndarray:
        # Of a run of sub-blocks that is erased some may hold nothing.
        return np.array([family_of(d).wins_by_erases and d.erase_unit == "block" for d in self.devices])

    @cached_property
    def _sub_block_pages(self) -> np.ndarray:
        return np.array([d.geometry.pages_per_block // d.geometry.sub_blocks_per_block for d in self.devices])


#: Entry points of installed packages; loading one has to register its terms.
ENTRY_POINT_GROUP = "ssdgym.reward_terms"
#: What one count of each counter costs on a device.
Costs = Callable[[DeviceConfig], Mapping[str, float]]


#: What devices have cost since their metrics were reset, (n,).
Measure = Callable[[Totals], np.ndarray]


@dataclass(frozen=True)
class Term:
    """A term that an objective may weigh.

    Attributes:
        name: by which objectives have it.
        meaning: what it counts, and the unit.
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
        meaning: what it counts, and the unit.
        needs_time: whether it is always 0 on devices without time, whose environments then refuse it.

    Raises:
        SsdgymError: another module has registered a term of this name.
    """

    def register(costs: Costs) -> Costs:
        on = partial(_sum, name, costs)
        _add(Term(name, meaning, on, needs_time, module=costs.__module__))
        return costs

    return register


def reward_measure(name: str, meaning: str, *, needs_time: bool = False) -> Callable[[Measure], Measure]:
    """Register the decorated function as a term that is any function of counters and latencies.

    The function takes the `Totals` of n devices since their episodes began and returns what they have cost,
    float64 (n,). The term is minus its rise from decision to decision.

    Args:
        name: by which objectives have it.
        meaning: what it measures, and the unit.
        needs_time: whether it is always 0 on devices without time, whose environments then refuse it.

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

    def of_one(self, totals: Totals, i: int) -> float:
        """Return what device `i` has cost."""
        total = 0.0
        for counter, cost in self.per_count.items():
            total += float(totals.counter(counter)[i]) * float(cost[i])
        return total


def find_term(name: str) -> Term:
    """Return a term by name, of installed packages if need be."""
    if name not in TERMS:
        for plugin in plugins_of(ENTRY_POINT_GROUP):
            plugin.load()
    if name not in TERMS:
        raise SsdgymError(
            f"objective has the unknown term {name!r}; it may have {', '.join(TERMS)}, or those of a module "
            "that --import names."
        )
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


_TIMES = ("gc_spare_ns", "gc_read_ns", "gc_write_ns", "gc_erase_ns")


@reward_term("merge_time", "nominal time of all commands of merges, in page programs")
def _merge_time(device: DeviceConfig) -> dict[str, float]:
    return dict.fromkeys(_TIMES, 1 / max(device.timing.program_ns, 1))


@reward_term("spoiled", "valid pages that erases beside them have destroyed")
def _spoiled(device: DeviceConfig) -> dict[str, float]:
    return {"spoiled_pages": 1.0}


@reward_term("flash_time", "nominal time of all commands of the flash, in page programs")
def _flash_time(device: DeviceConfig) -> dict[str, float]:
    timing, page_ns = device.timing, device.transfer_ns
    part_ns = round(timing.transfer_ns_per_byte * device.host_unit_bytes)
    unit = max(timing.program_ns, 1)
    return {
        "full_programs": (timing.program_ns + page_ns) / unit,
        "subpage_programs": ((timing.subpage_program_ns or timing.program_ns) + part_ns) / unit,
        "flash_reads": (timing.read_ns + page_ns) / unit,
        # What is read to be programmed in the region is no whole page on the channel.
        "advances": (part_ns - page_ns) / unit,
        "region_moves": (part_ns - page_ns) / unit,
        "erases": timing.erase_ns / unit,
    }


@reward_term("amplification", "bytes programmed beyond those that the host has written, in pages of flash")
def _amplification(device: DeviceConfig) -> dict[str, float]:
    part = 1 / device.units_per_page
    return {"full_programs": 1.0, "subpage_programs": part, "host_pages_written": -part}


@reward_term(
    "small_writes", "bytes programmed for writes that leave the buffer as less than a page, in pages of flash"
)
def _small_writes(device: DeviceConfig) -> dict[str, float]:
    return {"small_flash_bytes": 1 / device.geometry.page_size_bytes}
