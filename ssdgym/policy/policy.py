"""What a policy is: a victim rule with its parameters, and what it asks of the device it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from ssdgym.config.device import DeviceConfig, changed_device
from ssdgym.engine.core.handle import rule_address
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.decisions import ERASE, ERASE_SHAPE, MAX_PARAMETERS, no_rules
from ssdgym.engine.page.view import VIEW_TYPE
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import label_of, parse_policy

EraseUnit = Literal["block", "sub_block_run", "sub_block_set"]
Isolation = Literal["none", "software", "hardware"]
MultiPlane = Literal["none", "strict", "relaxed"]


def new_choice() -> np.ndarray:
    """Scratch for the erase set a policy writes, shape (MAX_PAIRS,) of ERASE_PAIR."""
    return np.zeros(MAX_PAIRS, ERASE_PAIR)


@dataclass(frozen=True)
class Policy:
    """A victim rule with its parameters set, and what it asks of the device.

    ``function(dev, plane, parameters, choice)`` looks at one device
    (`ssdgym.engine.page.view.PolicyView`), writes an erase set of ``plane`` to ``choice`` and returns the
    number of pairs (0: no victim).

    Attributes:
        name: of the rule, or of the composition.
        function: the rule.
        source: the paper or book it is from.
        compiled: whether it runs inside the engine.
        parameters: of the rule, by name, in the order in which it finds them.
        least: the smallest values allowed.
        most: the largest values allowed.
        erase_unit: what the rule has one erase take; ``None``: whole blocks, which every device can.
        isolation: what keeps such erases from their neighbours, for devices of another erase unit.
        multi_plane: which planes of a die take part in one erase; ``None``: those the device says.
        placement: where pages go; ``None``: where the device's FTL says.
        stands_for: the composition, for a policy with a name of its own.
    """

    name: str
    function: Callable[..., int]
    source: str
    compiled: bool = True
    parameters: Mapping[str, float] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    erase_unit: EraseUnit | None = None
    isolation: Isolation = "none"
    multi_plane: MultiPlane | None = None
    placement: str | None = None
    stands_for: str = ""

    def with_parameters(self, given: Mapping[str, float]) -> Policy:
        """The same policy with other parameters; a wrong name or value is an error.

        A parameter whose default is a whole number takes whole numbers only.
        """
        if given and self.stands_for:
            raise SsdgymError(f"policy {self.name} takes no parameters; it stands for {self.stands_for}.")
        changed = dict(self.parameters)
        for key, value in given.items():
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise SsdgymError(f"policy {self.name} has no parameter {key!r}; it has: {known}.")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
                raise SsdgymError(f"parameter {key} of policy {self.name} must be a number, not {value!r}.")
            whole = isinstance(self.parameters[key], int)
            if whole and value != int(value):
                raise SsdgymError(f"parameter {key} of policy {self.name} must be whole, not {value!r}.")
            if value < self.least.get(key, -np.inf):
                raise SsdgymError(
                    f"parameter {key} of policy {self.name} must be at least {self.least[key]}, "
                    f"not {value:g}."
                )
            if value > self.most.get(key, np.inf):
                raise SsdgymError(
                    f"parameter {key} of policy {self.name} must be at most {self.most[key]}, not {value:g}."
                )
            changed[key] = int(value) if whole else float(value)
        return replace(self, parameters=changed)

    def with_placement(self, placement: str) -> Policy:
        """The same policy with a placement; one that has one already is an error."""
        if self.placement is not None:
            own = f"{self.name} ({self.stands_for})" if self.stands_for else self.name
            raise SsdgymError(
                f"policy {own} has the placement {self.placement} and cannot be given {placement}, too; "
                "leave one of them out."
            )
        return replace(self, placement=placement)

    def device(self, device: DeviceConfig) -> DeviceConfig:
        """The device as this policy runs it: with its placement, and with an erase unit and commands of
        several planes that suit its rule.

        The device's isolation is kept where its erase unit is.

        Raises:
            SsdgymError: the device cannot be erased so, or has too few blocks for the placement.
        """
        changes: dict[str, Any] = {}
        if self.erase_unit is not None and self.erase_unit != device.erase_unit:
            if self.erase_unit != "block" and device.geometry.sub_blocks_per_block == 1:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks, and device {device.name} has one per block; set "
                    "geometry.sub_blocks_per_block above 1."
                )
            loses_isolation = self.erase_unit != "block" and self.isolation == "none" != device.isolation
            if loses_isolation and device.erase_disturbs:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks without isolation, and device {device.name} has "
                    f"isolation {device.isolation} because its erases disturb; set its erase_unit to "
                    f"{self.erase_unit}, which keeps the isolation, or erase_disturbs to false."
                )
            changes |= {"erase_unit": self.erase_unit, "isolation": self.isolation}
        if self.multi_plane is not None and self.multi_plane != device.multi_plane:
            changes["multi_plane"] = self.multi_plane
        if self.placement is not None and self.placement != getattr(device.ftl, "placement", None):
            changes["ftl"] = device.ftl.model_copy(update={"placement": self.placement})
        if not changes:
            return device
        return changed_device(device, f"policy {self.label} cannot run on device {device.name}", **changes)

    @property
    def label(self) -> str:
        """The name with the parameters and the placement, as it is parsed by :func:`get_policy`."""
        if not self.stands_for:
            return label_of(self.name, self.parameters, self.placement)
        return self._with_added_placement(self.name)

    @property
    def composition(self) -> str:
        """The label, with what a name of its own stands for in place of that name."""
        return self._with_added_placement(self.stands_for) if self.stands_for else self.label

    def _with_added_placement(self, name: str) -> str:
        """What the policy is called, with the placement that is no part of what it stands for."""
        has_own = parse_policy(self.stands_for).placement is not None
        return label_of(name, {}, None if has_own else self.placement)

    @cached_property
    def vector(self) -> np.ndarray:
        """The parameters for the engine, shape (MAX_PARAMETERS,) float64, in order of declaration."""
        values = np.zeros(MAX_PARAMETERS)
        values[: len(self.parameters)] = list(self.parameters.values())
        return values

    @cached_property
    def _machine_code(self) -> tuple[int, Any]:
        try:
            return _compile(self.function, tuple(self.parameters))
        except ValueError as error:
            raise SsdgymError(
                f"policy {self.name} cannot be compiled: {error}; correct it, or register it with "
                "compiled=False."
            ) from error

    @property
    def address(self) -> int:
        """Address of the compiled function; compiles at first use."""
        if not self.compiled:
            raise SsdgymError(f"policy {self.name} is plain Python and cannot run inside the engine.")
        return self._machine_code[0]

    @property
    def rules(self) -> np.ndarray:
        """The rules for the engine, shape (kinds,) RULE; compiles at first use."""
        rules = no_rules()
        if self.compiled:
            rules[ERASE]["choose"] = self.address
            rules[ERASE]["parameters"] = self.vector
        return rules

    def __reduce__(self) -> tuple[Any, ...]:
        from ssdgym.policy.registry import get_policy

        return (get_policy, (self.label,))


@cache
def _compile(function: Callable[..., int], names: tuple[str, ...]) -> tuple[int, Any]:
    """Address of a policy's machine code, compiled once in a process."""
    return rule_address(function, ERASE_SHAPE, VIEW_TYPE, names=names)
