"""FTL families in the simulator: building, checking and measuring their devices.

A family consists of a model of its configuration (a subclass of `ssdgym.config.ftl.FtlConfig`), of arrays and
operations in the engine, and of a subclass of `FamilyBuilder`, which connects both. All have its `mapping`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.geometry import GeometryConfig
from ssdgym.engine.core import family as engine_families
from ssdgym.engine.core.family import Family, Sizes, State
from ssdgym.engine.decisions import ERASE
from ssdgym.errors import SsdgymError

#: States of a page: unwritten; written with its newest data; written with old data.
FREE, VALID, INVALID = 0, 1, 2


@dataclass(frozen=True)
class PageMap:
    """The states of all pages of a device, for pictures.

    Attributes:
        pages: int8 (planes, blocks, pages), `FREE`, `VALID` or `INVALID`.
        open: bool (planes, blocks), whether each block is open (being written).
    """

    pages: np.ndarray
    open: np.ndarray

    @classmethod
    def of(cls, geometry: GeometryConfig, pages: np.ndarray, is_open: np.ndarray) -> PageMap:
        """Return the map from one-dimensional arrays by the numbers of pages and of blocks."""
        blocks = geometry.planes, geometry.blocks_per_plane
        pages = pages.astype(np.int8).reshape(*blocks, geometry.pages_per_block)
        return cls(pages, is_open.astype(bool).reshape(blocks))


_BUILDERS: dict[str, FamilyBuilder] = {}


class FamilyBuilder(ABC):
    """Base class: a subclass builds, checks and measures the devices of one FTL family.

    Attributes:
        engine: the family in the engine. Its name is the mapping.
        fixed: names of the arrays of constants. A saved state must have the same values, except for the seed.
        scratch: names of the arrays of transactions that untimed runs change. They are restored afterwards.
        counted: names of the arrays with the counters of devices, one record for each device.
        policy_decision: number of the kind of decision (`ssdgym.engine.decisions`) that the main rule of a
            policy takes. A device without a policy leaves it to its caller.
        agent_decisions: numbers of the kinds of decisions that agents can take.
        wins_by_erases: whether only erases reclaim space, so that the space that GC reclaims is the erased
            pages minus the relocated pages.
        counts_pages: whether counters are in logical pages, separate for host and GC, and a plane's free and
            valid pages include all its blocks.
    """

    engine: Family
    fixed: tuple[str, ...] = ("params",)
    scratch: tuple[str, ...] = ()
    counted: tuple[str, ...] = ("counters",)
    policy_decision: int = ERASE
    agent_decisions: frozenset[int] = frozenset()
    wins_by_erases: bool = True
    counts_pages: bool = True

    def __init_subclass__(cls) -> None:
        """Register the builder; raise if another builder has its mapping."""
        mapping = cls.engine.name
        if type(_BUILDERS.setdefault(mapping, cls())).__qualname__ != cls.__qualname__:
            raise SsdgymError(f"the FTL mapping {mapping} has a builder already; choose another name.")

    @abstractmethod
    def check(self, device: DeviceConfig) -> None:
        """Raise an error that names the field to change if the device could not run when full."""

    @abstractmethod
    def params(self, device: DeviceConfig) -> Mapping[str, int]:
        """Return the constants of the family, by the names of the record PARAMS."""

    def constants(self, device: DeviceConfig) -> Mapping[str, Mapping[str, Any]]:
        """Return the family's constants outside PARAMS: values by name of the array, then of the field."""
        return {}

    @abstractmethod
    def sizes(self, device: DeviceConfig) -> Sizes:
        """Return a mapping from names of the family's arrays to their lengths for one device."""

    def pages_of_command(self, device: DeviceConfig) -> int:
        """Return the largest number of pages that a command may read in addition to the one it programs."""
        return device.units_per_page

    def metrics(self, state: State, i: int, device: DeviceConfig) -> dict[str, Any]:
        """Return metrics of this family by name; they are added to those of `metrics_of`, or replace them."""
        return {}

    def pages_programmed(self, state: State, i: int) -> int:
        """Return the logical pages that device `i` has programmed since the last reset of the metrics."""
        counted = state.counters[i, 0]
        return int(counted["host_pages_written"] + counted["relocated_pages"] + counted["padded_pages"])

    def reset_metrics(self, state: State, i: int) -> None:
        """Clear counters and other records of metrics of device `i`."""
        for name in self.counted:
            getattr(state, name)[i] = 0

    def check_ages(self, device: DeviceConfig) -> None:
        """Raise if data does not age in this family."""
        raise SsdgymError(
            f"device {device.name}: data does not age with ftl.mapping {self.engine.name}; pass_days is for "
            "devices of mapping subpage."
        )

    def pass_day(self, state: State, i: int, device: DeviceConfig) -> None:
        """Age the data of device `i` by a day. Data that is too old is moved when the device runs on."""
        self.check_ages(device)

    def page_map(self, state: State, i: int, device: DeviceConfig) -> PageMap:
        """Return the map of pages of device `i` for pictures; raise if the family has no such map."""
        raise SsdgymError(
            f"devices of ftl.mapping {self.engine.name} cannot be drawn; leave render_mode out."
        )

    def weighed(self, device: DeviceConfig) -> dict[str, Any]:
        """Return values, for JSON, that a steady state depends on besides the fields in `cache_key`.

        By default these are the times of commands, which rules may read even if no time passes.
        """
        return {"times": device.timing.model_dump(mode="json")}

    def whole_blocks_kept(self, device: DeviceConfig) -> int:
        """Return the number of blocks per plane that a device of any size needs besides those with data."""
        return 0

    def counter_names(self) -> tuple[str, ...]:
        """Return the names of the counters."""
        sample = self.engine.arrays.sample()
        return tuple(name for array in self.counted for name in getattr(sample, array).dtype.names)

    def counter(self, state: State, name: str) -> np.ndarray:
        """Return a counter of every device of a batch, int64 (n,), as a view."""
        for array in self.counted:
            records = getattr(state, array)
            if name in records.dtype.names:
                return records[name][:, 0]
        raise SsdgymError(f"devices of ftl.mapping {self.engine.name} do not count {name}; choose another.")


def reserve_blocks(device: DeviceConfig) -> int:
    """Return how many free blocks a plane keeps in reserve, because an erase can retire its block."""
    return 0 if device.cells is None else 1


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole; None if the whole is 0."""
    return part / whole if whole else None


def erases_of(state: State, i: int, device: DeviceConfig) -> np.ndarray:
    """Return how often each sub-block of device `i` has been erased since the device was made, by number."""
    return np.ascontiguousarray(state.sub_block["erases"][i, : sub_blocks_of(device)])


def sub_blocks_of(device: DeviceConfig) -> int:
    """Return the number of sub-blocks of a device."""
    geometry = device.geometry
    return geometry.planes * geometry.blocks_per_plane * geometry.sub_blocks_per_block


def family_of(device: DeviceConfig) -> FamilyBuilder:
    """Return the builder of a device's family; raise if no builder is registered for its mapping."""
    mapping = device.ftl.mapping
    if mapping not in _BUILDERS:
        raise SsdgymError(
            f"device {device.name}: ftl.mapping {mapping} can be configured and not simulated; register a "
            "builder for it."
        )
    return _BUILDERS[mapping]


def mappings_that_ask(kind: int) -> list[str]:
    """Return the mappings of families that offer a kind of decision to agents."""
    return [name for name, builder in _BUILDERS.items() if kind in builder.agent_decisions]


def family_of_state(state: State) -> FamilyBuilder:
    """Return the builder of the family of a batch of devices."""
    return _BUILDERS[engine_families.family_of(state).name]
