"""Policies: one rule for each kind of decision, and the device fields that they need."""

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
    """A rule for each kind of decision.

    Attributes:
        main: the victim rule or, on devices of mapping block, the merge rule, which has no other rules beside
            it. The policy has the name of its main rule.
        beside: the other rules, by the kinds of `ssdgym.policy.on_device.BESIDE`. If a kind is missing, the
            rule that the device's FTL names is used.
        alias: the alias by which the policy was looked up, if there is one.
    """

    main: Rule
    beside: Mapping[Kind, Rule] = field(default_factory=dict)
    alias: Alias | None = None

    @property
    def victim(self) -> Rule:
        """The rule that chooses what is erased.

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
        """Name of the main rule, or of the composition."""
        return self.alias.name if self.alias else self.main.name

    @property
    def source(self) -> str:
        """The paper or book that the main rule, or the composition, is from."""
        return self.alias.source if self.alias else self.main.source

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules that the policy brings."""
        return self.main, *self.beside.values()

    def with_parameters(self, given: Mapping[str, float]) -> Policy:
        """Return the same policy with other parameters, each in the first rule that has such a parameter.

        The main rule is first, then the placement, then the others. A parameter whose default is a whole
        number takes whole numbers only.

        Raises:
            SsdgymError: a name or value is wrong, or the policy is an alias.
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
        """Return the same policy with a rule beside its main one.

        Raises:
            SsdgymError: the policy has a rule of that kind already, or is a merge rule.
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
        """Return the device as this policy runs it.

        Its FTL names the policy's other rules, and its erase unit and multi-plane commands are those that the
        victim rule needs. If the erase unit does not change, the isolation does not change either.

        Raises:
            SsdgymError: the device has no decisions of this kind, cannot erase such units, or has too few
                blocks for the placement.
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
        # Rules of the composition are not repeated behind its alias.
        own = dict(parse_policy(self.alias.composition))
        return "+".join([self.name, *(rule.label for rule in self.parts[1:] if rule.name not in own)])

    @property
    def composition(self) -> str:
        """The label, with the composition in place of its alias."""
        return self.alias.composition + self.label.removeprefix(self.name) if self.alias else self.label

    def placed_on(self, device: DeviceConfig) -> Policy:
        """Return the policy with the rules of a device in place of its own ones beside the main rule."""
        return replace(self, beside=beside_on(device))

    def source_digest(self) -> str:
        """Return a hash of the code of its rules and their hooks."""
        return hashlib.sha256(b"".join(rule.code for rule in self.parts)).hexdigest()
