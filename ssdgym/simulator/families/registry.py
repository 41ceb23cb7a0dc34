"""The families that devices can be built of, by the mapping of their FTL."""

from __future__ import annotations

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core import family as engine_families
from ssdgym.engine.core.family import State
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families.base import FamilyBuilder

_BUILDERS: dict[str, FamilyBuilder] = {}


def register_family(builder: FamilyBuilder) -> None:
    """Let devices whose FTL has the mapping of a family be built.

    Raises:
        SsdgymError: another builder has that mapping.
    """
    mapping = builder.engine.name
    if type(_BUILDERS.setdefault(mapping, builder)) is not type(builder):
        raise SsdgymError(f"the FTL mapping {mapping} has a builder already; choose another name.")


def family_of(device: DeviceConfig) -> FamilyBuilder:
    """Return the builder of a device's family.

    Raises:
        SsdgymError: it has none.
    """
    mapping = device.ftl.mapping
    if mapping not in _BUILDERS:
        raise SsdgymError(
            f"device {device.name}: ftl.mapping {mapping} can be configured and not simulated; register a "
            "builder for it."
        )
    return _BUILDERS[mapping]


def family_of_state(state: State) -> FamilyBuilder:
    """Return the builder of a batch of devices."""
    return _BUILDERS[engine_families.family_of(state).name]
