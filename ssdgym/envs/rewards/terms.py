"""The terms of objectives. A term is a cost that a device counts: a weighted sum of its counters.

A reward contains minus the increase of each term since the last reward. The undiscounted sum of these numbers
over an episode is therefore exactly minus the term's cost of the episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.family import State
from ssdgym.errors import SsdgymError
from ssdgym.own_code import plugins_of
from ssdgym.simulator.families import family_of
from ssdgym.simulator.families.block import GC_TIMES


@dataclass(frozen=True)
class Totals:
    """The present counters of n devices, which count from the last reset of their metrics.

    Attributes:
        devices: configurations of the devices.
        counter: function that returns a counter, given by name, of every device, int64 (n,).
    """

    devices: Sequence[DeviceConfig]
    counter: Callable[[str], np.ndarray]

    @classmethod
    def of(cls, device: DeviceConfig, state: State) -> Totals:
        """Return the totals of one device, the first of a batch."""
        return cls([device], partial(family_of(device).counter, state))

    def pages_reclaimed(self) -> np.ndarray:
        """Return the number of pages that GC has reclaimed, erased minus relocated pages, int64 (n,).

        For devices of the block or sub-page family, or with an `erase_unit` below a block, erases do not
        measure reclaimed space. For such a device the number is that of host pages written.
        """
        reclaims, takes = self.reclaiming(self.counter, 0)
        return reclaims * self.pages_per_count - takes

    def rounds(self) -> np.ndarray:
        """Return the rounds of GC, int64 (n,), or host pages written where `pages_reclaimed` returns them."""
        return np.where(
            self._wins_by_erases, self.counter("gc_invocations"), self.counter("host_pages_written")
        )

    def reclaiming(self, read: Callable[[str], np.ndarray], nothing: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the values (n,) that `read` returns for the two counters of `pages_reclaimed`.

        The first counter is added, the second one subtracted. Devices without a second one have `nothing`.
        """
        erases = self._wins_by_erases
        reclaims = np.where(erases, read("erased_sub_blocks"), read("host_pages_written"))
        return reclaims, np.where(erases, read("relocated_pages"), nothing)

    @cached_property
    def pages_per_count(self) -> np.ndarray:
        """The number of pages for one count of the counter that `reclaiming` returns first, int64 (n,)."""
        sub_block = [d.geometry.pages_per_block // d.geometry.sub_blocks_per_block for d in self.devices]
        return np.where(self._wins_by_erases, sub_block, 1)

    @cached_property
    def _wins_by_erases(self) -> np.ndarray:
        # An erase of several sub-blocks may include empty ones, which hold no space to reclaim.
        return np.array([family_of(d).wins_by_erases and d.erase_unit == "block" for d in self.devices])


#: A function of a device that returns the cost of one count of each counter, by the counter's name.
Costs = Callable[[DeviceConfig], Mapping[str, float]]
#: By a counter's name, the cost of one count on each of n devices, float64 (n,).
Sum = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Term:
    """A term that an objective may contain.

    Attributes:
        name: name of the term in objectives.
        meaning: the quantity that the term counts, and its unit.
        costs: function of a device that returns the cost of one count of each counter, by the counter's name.
        needs_time: whether the term is always 0 on devices that simulate no time.
    """

    name: str
    meaning: str
    costs: Costs
    needs_time: bool = False

    def on(self, devices: Sequence[DeviceConfig]) -> Sum:
        """Return for each counter the cost of one count on each of the devices."""
        each = [self.costs(device) for device in devices]
        for mapping, device in {device.ftl.mapping: device for device in devices}.items():
            known = family_of(device).counter_names()
            for counter in each[0]:
                if counter not in known:
                    raise SsdgymError(
                        f"the reward term {self.name} counts {counter!r}; devices of ftl.mapping {mapping} "
                        f"count {', '.join(known)}."
                    )
        return {counter: np.array([cost[counter] for cost in each], np.float64) for counter in each[0]}


#: The registered terms by name.
TERMS: dict[str, Term] = {}


def reward_term(name: str, meaning: str, *, needs_time: bool = False) -> Callable[[Costs], Costs]:
    """Register the decorated function as a term.

    The function has a `DeviceConfig` as argument, and returns a mapping from names of counters to the cost of
    one count. Counters are those of `ssdgym.engine.core.records.COUNTERS` and of the device's FTL family. The
    names must be the same for every device. The term is the sum of all counters times their costs.

    Args:
        name: name of the term in objectives.
        meaning: the quantity that the term counts, and its unit.
        needs_time: whether the term is always 0 with `ftl.timing: none`. Environments then raise SsdgymError.

    Raises:
        SsdgymError: another module has registered a term of this name.
    """

    def register(costs: Costs) -> Costs:
        known = TERMS.get(name)
        if known is not None and known.costs.__module__ != costs.__module__:
            raise SsdgymError(
                f"the reward term {name} is registered already by {known.costs.__module__}; choose another "
                "name."
            )
        TERMS[name] = Term(name, meaning, costs, needs_time)
        return costs

    return register


def find_term(name: str) -> Term:
    """Return the term with a name; if it is not registered, first load the terms of installed packages."""
    if name not in TERMS:
        for plugin in plugins_of("ssdgym.reward_terms"):
            plugin.load()
    if name not in TERMS:
        raise SsdgymError(
            f"objective has the unknown term {name!r}; it may have {', '.join(TERMS)}, or those of a module "
            "that --import names."
        )
    return TERMS[name]


@reward_term("relocations", "number of relocated pages, in blocks")
def _relocations(device: DeviceConfig) -> dict[str, float]:
    return {"relocated_pages": 1 / (device.geometry.pages_per_block * device.units_per_page)}


@reward_term("latency", "total latency of finished reads and writes, in page programs", needs_time=True)
def _latency(device: DeviceConfig) -> dict[str, float]:
    program = 1 / max(device.timing.program_ns, 1)
    return {"read_latency_sum_ns": program, "write_latency_sum_ns": program}


@reward_term("tail", "number of finished requests slower than a program plus an erase", needs_time=True)
def _tail(device: DeviceConfig) -> dict[str, float]:
    return {"slow_requests": 1.0}


@reward_term("levelling", "increase of the sum of squared erase counts, per block; worn blocks cost more")
def _levelling(device: DeviceConfig) -> dict[str, float]:
    return {"erase_square_rise": 1 / device.geometry.sub_blocks_per_block}


@reward_term("wear", "number of erased blocks")
def _wear(device: DeviceConfig) -> dict[str, float]:
    return {"erased_sub_blocks": 1 / device.geometry.sub_blocks_per_block}


@reward_term("energy", "energy of relocations and erases, in units of relocating a whole block")
def _energy(device: DeviceConfig) -> dict[str, float]:
    if not family_of(device).counts_pages:
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


@reward_term("merge_time", "nominal time of all merge commands, in page programs")
def _merge_time(device: DeviceConfig) -> dict[str, float]:
    return dict.fromkeys(GC_TIMES, 1 / max(device.timing.program_ns, 1))


@reward_term("spoiled", "number of valid pages destroyed by erases of neighbours")
def _spoiled(device: DeviceConfig) -> dict[str, float]:
    return {"spoiled_pages": 1.0}


@reward_term("flash_time", "nominal time of all flash commands, in page programs")
def _flash_time(device: DeviceConfig) -> dict[str, float]:
    timing, page_ns = device.timing, device.transfer_ns
    part_ns = round(timing.transfer_ns_per_byte * device.host_unit_bytes)
    unit = max(timing.program_ns, 1)
    return {
        "full_programs": (timing.program_ns + page_ns) / unit,
        "subpage_programs": ((timing.subpage_program_ns or timing.program_ns) + part_ns) / unit,
        "flash_reads": (timing.read_ns + page_ns) / unit,
        # A read of one subpage for the region transfers only this subpage, not a page.
        "advances": (part_ns - page_ns) / unit,
        "region_moves": (part_ns - page_ns) / unit,
        "erases": timing.erase_ns / unit,
    }


@reward_term("amplification", "bytes programmed minus bytes written by the host, in flash pages")
def _amplification(device: DeviceConfig) -> dict[str, float]:
    part = 1 / device.units_per_page
    return {"full_programs": 1.0, "subpage_programs": part, "host_pages_written": -part}


@reward_term("small_writes", "bytes programmed for buffer evictions smaller than a page, in flash pages")
def _small_writes(device: DeviceConfig) -> dict[str, float]:
    return {"small_flash_bytes": 1 / device.geometry.page_size_bytes}
