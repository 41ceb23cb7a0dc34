"""Policies: a main rule and further rules beside it, and how they change the fields of a device."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import PageFtl
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import parse_policy
from ssdgym.policy.on_device import BESIDE, beside_on, with_rules
from ssdgym.policy.registry import Alias, registered
from ssdgym.policy.rules import ABOUT, Kind, Rule


@dataclass(frozen=True)
class Policy:
    """A main rule, and further rules by the kind of their decision.

    Attributes:
        main: the victim rule or, on devices of mapping block, the merge rule, which stands alone.
        beside: the further rules, by the kinds of `ssdgym.policy.on_device.BESIDE`. If a kind is missing, the
            rule that the device's FTL names is used.
        alias: the alias by which the policy was looked up; `None` if it was not looked up by an alias.
    """

    main: Rule
    beside: Mapping[Kind, Rule] = field(default_factory=dict)
    alias: Alias | None = None

    @property
    def victim(self) -> Rule:
        """The victim rule.

        Raises:
            SsdgymError: the main rule is a merge rule.
        """
        if self.main.kind == "merge":
            raise SsdgymError(
                f"policy {self.label} is a merge rule, and a victim rule is needed here; name one, such as "
                f"{PageFtl.usual_policy}."
            )
        return self.main

    @property
    def name(self) -> str:
        """Name of the alias if there is one, otherwise of the main rule."""
        return self.alias.name if self.alias else self.main.name

    @property
    def source(self) -> str:
        """The paper or book that describes the alias if there is one, otherwise the main rule."""
        return self.alias.source if self.alias else self.main.source

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The main rule, then the rules beside it."""
        return self.main, *self.beside.values()

    def with_parameters(self, given: Mapping[str, float]) -> Policy:
        """Return the policy with new values of parameters, each in the first of `parts` that has it.

        The value must be whole if the parameter's default is an integer.

        Raises:
            SsdgymError: no rule has such a parameter, a value is wrong, or the policy has an alias.
        """
        if given and self.alias:
            composition = self.alias.composition
            raise SsdgymError(f"policy {self.name} takes no parameters; it stands for {composition}.")
        rules = list(self.parts)
        for name, value in given.items():
            having = [number for number, rule in enumerate(rules) if name in rule.parameters]
            if not having and len(rules) > 1:
                known = ", ".join(name for rule in rules for name in rule.parameters) or "none"
                raise SsdgymError(f"policy {self.label} has no parameter {name!r}; its rules have: {known}.")
            number = having[0] if having else 0
            rules[number] = rules[number].with_parameters({name: value})
        main, *beside = rules
        return replace(self, main=main, beside={rule.kind: rule for rule in beside})

    def with_rule(self, rule: Rule) -> Policy:
        """Return the policy with one more rule beside its main rule.

        Raises:
            SsdgymError: the policy has a rule of this kind already, or its main rule is a merge rule.
        """
        kind = ABOUT[rule.kind].called
        if self.main.kind == "merge":
            raise SsdgymError(
                f"policy {self.label} is a merge rule and stands alone; leave the {kind} {rule.label} out."
            )
        if known := self.beside.get(rule.kind):
            own = f"{self.name} ({self.alias.composition})" if self.alias else self.name
            raise SsdgymError(
                f"policy {own} has the {kind} {known.label} and cannot also be given {rule.label}; leave one "
                "of them out."
            )
        rules = {**self.beside, rule.kind: rule}
        return replace(self, beside={kind: rules[kind] for kind in BESIDE if kind in rules})

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with the fields that this policy needs.

        The FTL names the rules in `beside`. Erase unit and multi-plane setting are those that the main rule
        needs, if it needs any. The isolation changes, to that of the main rule, only with the erase unit.

        Raises:
            SsdgymError: the device has no decisions for the main rule, cannot erase its unit, or has, for
                example, too few blocks for the placement.
        """
        usual = registered(device.ftl.usual_policy)
        if isinstance(usual, Rule) and usual.kind != self.main.kind:
            raise SsdgymError(
                f"policy {self.label} is a {ABOUT[self.main.kind].called}, and device {device.name} of "
                f"ftl.mapping {device.ftl.mapping} has none; name a {ABOUT[usual.kind].called}, such as "
                f"{usual.name}."
            )
        changes: dict[str, Any] = {}
        unit, multi_plane = self.main.erase_unit, self.main.multi_plane
        if unit is not None and unit != device.erase_unit:
            if device.ftl.whole_blocks_only:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks, and device {device.name} of ftl.mapping "
                    f"{device.ftl.mapping} erases whole blocks; choose another one, such as greedy."
                )
            if unit != "block" and device.geometry.sub_blocks_per_block == 1:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks, and device {device.name} has one per block; set "
                    "geometry.sub_blocks_per_block above 1."
                )
            changes |= {"erase_unit": unit, "isolation": self.main.isolation}
        if multi_plane is not None and multi_plane != device.multi_plane:
            changes["multi_plane"] = multi_plane
        where = f"policy {self.label} cannot run on device {device.name}"
        victim = self.main if self.main.kind == "victim" else None
        return with_rules(device, self.beside, victim, where, **changes)

    @property
    def label(self) -> str:
        """The text of the policy with all parameters, which `get_policy` reads."""
        if not self.alias:
            return "+".join(rule.label for rule in self.parts)
        # The alias stands for the rules of its composition, so only further rules follow.
        own = dict(parse_policy(self.alias.composition))
        return "+".join([self.name, *(rule.label for rule in self.parts[1:] if rule.name not in own)])

    @property
    def composition(self) -> str:
        """The label, in which the composition replaces its alias."""
        return self.alias.composition + self.label.removeprefix(self.name) if self.alias else self.label

    def placed_on(self, device: DeviceConfig) -> Policy:
        """Return the policy whose rules beside the main rule are those that the FTL of a device names."""
        return replace(self, beside=beside_on(device))

    def source_digest(self) -> str:
        """Return the SHA-256 hash, in hexadecimal, of the code of the policy's rules and their hooks."""
        return hashlib.sha256(b"".join(rule.code for rule in self.parts)).hexdigest()
