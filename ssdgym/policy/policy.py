"""Policies: one rule for each kind of decision, and what they need of the device they run on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import PageFtl
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import parse_policy
from ssdgym.policy.on_device import BESIDE, beside_on, with_rules
from ssdgym.policy.registry import Alias, registered, rule_of_kind
from ssdgym.policy.rules import Kind, Rule, called


@dataclass(frozen=True)
class Policy:
    """A rule for each kind of decision.

    Attributes:
        main: the rule that the policy is named by. It chooses what is erased or, on devices of mapping block,
            how blocks are merged; a policy of that kind has no other rules.
        placement: chooses where pages are written; `None`: as the FTL of the device says.
        alias: the name this composition was looked up by, if it has one.
        idle: chooses how far idle dies go with background GC; `None`: as the FTL of the device says.
        allocation: chooses which free block is opened; `None`: as the FTL of the device says.
        levelling: chooses which block is emptied to level wear; `None`: as the FTL of the device says.
    """

    main: Rule
    placement: Rule | None = None
    alias: Alias | None = None
    idle: Rule | None = None
    allocation: Rule | None = None
    levelling: Rule | None = None

    @property
    def victim(self) -> Rule:
        """The rule that chooses what is erased.

        Raises:
            SsdgymError: the policy chooses how blocks are merged.
        """
        if self.main.kind == "merge":
            raise SsdgymError(
                f"policy {self.label} chooses {self.main.chooses}, and a victim rule is needed here; name "
                f"one, such as {PageFtl.usual_policy}."
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
    def alias_of(self) -> str:
        """The composition, for a policy with a name of its own; empty for others."""
        return self.alias.composition if self.alias else ""

    @property
    def parameters(self) -> Mapping[str, float]:
        """Parameters of the main rule by name."""
        return self.main.parameters

    @property
    def erase_unit(self) -> EraseUnit | None:
        """What one erase takes; `None`: whole blocks, which every device can erase."""
        return (self.alias and self.alias.erase_unit) or self.main.erase_unit

    @property
    def isolation(self) -> Isolation:
        """What keeps such erases from their neighbours, for devices of another erase unit."""
        return Isolation.NONE if self.alias and self.alias.erase_unit else self.main.isolation

    @property
    def multi_plane(self) -> MultiPlane | None:
        """Which planes of a die take part in one erase; `None`: those the device says."""
        return (self.alias and self.alias.multi_plane) or self.main.multi_plane

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules that the policy brings."""
        return self.main, *self.beside.values()

    @property
    def beside(self) -> Mapping[Kind, Rule]:
        """Those beside the main one, by their kinds."""
        return {part: rule for part in BESIDE if (rule := getattr(self, part)) is not None}

    def with_parameters(self, given: Mapping[str, float]) -> Policy:
        """Return the same policy with other parameters: each of the first of its rules that has it.

        The main rule is first, then the placement, then the others. A parameter whose default is a whole
        number takes whole numbers only.

        Raises:
            SsdgymError: a name or value is wrong, or the policy has a name of its own.
        """
        if given and self.alias:
            raise SsdgymError(f"policy {self.name} takes no parameters; it stands for {self.alias_of}.")
        changed = {part: dict[str, float]() for part in ("main", *BESIDE)}
        for name, value in given.items():
            having = (part for part in changed if name in getattr(getattr(self, part), "parameters", ()))
            changed[next(having, "main")][name] = value
        unknown = next((name for name in changed["main"] if name not in self.main.parameters), None)
        if unknown is not None and len(self.parts) > 1:
            known = ", ".join(name for rule in self.parts for name in rule.parameters) or "none"
            raise SsdgymError(f"policy {self.label} has no parameter {unknown!r}; its rules have: {known}.")
        rules = {part: getattr(self, part).with_parameters(own) for part, own in changed.items() if own}
        return replace(self, **rules)

    def with_rule(self, kind: Kind, rule: str | Rule) -> Policy:
        """Return the same policy with a rule beside its main one.

        Args:
            kind: of the rule, such as `placement`.
            rule: by what it is written as, or itself.

        Raises:
            SsdgymError: it has one already or can have none, or there is no such rule.
        """
        known = getattr(self, kind)
        if self.main.kind == "merge":
            label = rule if isinstance(rule, str) else rule.label
            raise SsdgymError(
                f"policy {self.label} chooses {self.main.chooses} and stands alone; "
                f"leave the {called(kind)} {label} out."
            )
        found = (
            rule_of_kind(kind, rule, f"policy {self.label}: {called(kind)}")
            if isinstance(rule, str)
            else rule
        )
        if known is not None:
            own = f"{self.name} ({self.alias_of})" if self.alias else self.name
            raise SsdgymError(
                f"policy {own} has the {called(kind)} {known.label} and cannot be given {found.label}, too; "
                "leave one of them out."
            )
        joined: Any = {kind: found}
        return replace(self, **joined)

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device as this policy runs it.

        It has the policy's rules beside the main one, and an erase unit and commands of several planes that
        suit the victim rule. The device's isolation is kept where its erase unit is.

        Raises:
            SsdgymError: the device has no such decisions, cannot be erased so, or has too few
                blocks for the placement.
        """
        self._check_decision(device)
        changes: dict[str, Any] = {}
        if self.erase_unit is not None and self.erase_unit != device.erase_unit:
            if device.ftl.whole_blocks_only:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks, and device {device.name} of ftl.mapping "
                    f"{device.ftl.mapping} erases whole blocks; choose another one, such as greedy."
                )
            if self.erase_unit != "block" and device.geometry.sub_blocks_per_block == 1:
                raise SsdgymError(
                    f"policy {self.label} erases sub-blocks, and device {device.name} has one per block; set "
                    "geometry.sub_blocks_per_block above 1."
                )
            changes |= {"erase_unit": self.erase_unit, "isolation": self.isolation}
        if self.multi_plane is not None and self.multi_plane != device.multi_plane:
            changes["multi_plane"] = self.multi_plane
        where = f"policy {self.label} cannot run on device {device.name}"
        victim = self.main if self.main.kind == "victim" else None
        return with_rules(device, self.beside, victim, where, **changes)

    def _check_decision(self, device: DeviceConfig) -> None:
        """Raise if a device has other decisions than the policy takes."""
        ftl = device.ftl
        usual = registered(ftl.usual_policy)
        if isinstance(usual, Rule) and usual.kind != self.main.kind:
            raise SsdgymError(
                f"policy {self.label} chooses {self.main.chooses}, which device {device.name} of ftl.mapping "
                f"{ftl.mapping} does not ask for; name a {called(usual.kind)}, such as {ftl.usual_policy}."
            )

    @property
    def label(self) -> str:
        """Its rules with their parameters, as `get_policy` reads them."""
        if not self.alias:
            return "+".join(rule.label for rule in self.parts)
        # What the name stands for is not repeated behind it.
        own = {part.name for part in parse_policy(self.alias_of)}
        return "+".join([self.name, *(rule.label for rule in self.parts[1:] if rule.name not in own)])

    @property
    def composition(self) -> str:
        """The label, with what a name of its own stands for in place of that name."""
        return self.alias_of + self.label.removeprefix(self.name) if self.alias else self.label

    def placed_on(self, device: DeviceConfig) -> Policy:
        """Return the policy with the rules of a device beside the main one."""
        beside: Any = {part: beside_on(device).get(part) for part in BESIDE}
        return replace(self, **beside)

    def source_digest(self) -> str:
        """Return a hash of the code of its rules and their hooks."""
        return hashlib.sha256(b"".join(rule.code for rule in self.parts)).hexdigest()
