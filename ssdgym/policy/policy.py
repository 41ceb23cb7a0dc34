"""Policies: one rule for each kind of decision, and what they need of the device they run on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from ssdgym.config.device import DeviceConfig, changed_device
from ssdgym.config.ftl import MemoryBytes, RuleNeeds
from ssdgym.config.page import PageFtl
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import parse_policy
from ssdgym.policy.registry import Alias, registered, rule_of_kind, side_by_side, trackers_of
from ssdgym.policy.rules import (
    AllocationRule,
    IdleRule,
    LevellingRule,
    MergeRule,
    PlacementRule,
    Rule,
    VictimRule,
)

#: The rules that a policy may have beside its main one, by its attribute: their kinds.
BESIDE: Mapping[str, type[Rule]] = {
    "placement": PlacementRule,
    "idle": IdleRule,
    "allocation": AllocationRule,
    "levelling": LevellingRule,
}
#: The fields in which the FTL of a device names them.
_FIELDS = {
    "placement": "placement",
    "idle": "gc.idle",
    "allocation": "block_allocation",
    "levelling": "levelling",
}


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

    main: VictimRule | MergeRule
    placement: PlacementRule | None = None
    alias: Alias | None = None
    idle: IdleRule | None = None
    allocation: AllocationRule | None = None
    levelling: LevellingRule | None = None

    @property
    def victim(self) -> VictimRule:
        """The rule that chooses what is erased.

        Raises:
            SsdgymError: the policy chooses how blocks are merged.
        """
        if isinstance(self.main, MergeRule):
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
    def beside(self) -> Mapping[str, Rule]:
        """Those beside the main one, by the name of the attribute."""
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

    def with_rule(self, part: str, rule: str | Rule) -> Policy:
        """Return the same policy with a rule beside its main one.

        Args:
            part: the attribute that it becomes, such as `placement`.
            rule: by what it is written as, or itself.

        Raises:
            SsdgymError: it has one already or can have none, or there is no such rule.
        """
        kind = BESIDE[part]
        called, known = kind.called, getattr(self, part)
        if isinstance(self.main, MergeRule):
            label = rule if isinstance(rule, str) else rule.label
            raise SsdgymError(
                f"policy {self.label} chooses {self.main.chooses} and stands alone; "
                f"leave the {called} {label} out."
            )
        found = rule_of_kind(kind, rule, f"policy {self.label}: {called}") if isinstance(rule, str) else rule
        if known is not None:
            own = f"{self.name} ({self.alias_of})" if self.alias else self.name
            raise SsdgymError(
                f"policy {own} has the {called} {known.label} and cannot be given {found.label}, too; leave "
                "one of them out."
            )
        joined: Any = {part: found}
        return replace(self, **joined)

    def with_checks(self) -> Policy:
        """Return the same policy, whose rules are compiled with checks whatever package they are of."""
        rules = {"main": self.main, **self.beside}
        checked: Any = {part: replace(rule, always_checked=True) for part, rule in rules.items()}
        return replace(self, **checked)

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
        victim = self.main if isinstance(self.main, VictimRule) else None
        return with_rules(device, self.beside, victim, where, **changes)

    def _check_decision(self, device: DeviceConfig) -> None:
        """Raise if a device has other decisions than the policy takes."""
        ftl = device.ftl
        usual = registered(ftl.usual_policy)
        if isinstance(usual, Rule) and usual.decision != self.main.decision:
            kind = "merge rule" if isinstance(usual, MergeRule) else "victim rule"
            raise SsdgymError(
                f"policy {self.label} chooses {self.main.chooses}, which device {device.name} of ftl.mapping "
                f"{ftl.mapping} does not ask for; name a {kind}, such as {ftl.usual_policy}."
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


def beside_on(device: DeviceConfig) -> dict[str, Any]:
    """Return the rules that the FTL of a device names, by the attribute of a policy that has such a rule."""
    if not isinstance(device.ftl, PageFtl):
        return {}
    return {
        part: rule_of_kind(BESIDE[part], text, f"device {device.name}: ftl.{_FIELDS[part]}")
        for part, text in _named_by(device.ftl).items()
        if text is not None
    }


def _named_by(ftl: PageFtl) -> dict[str, str | None]:
    return {part: attrgetter(field)(ftl) for part, field in _FIELDS.items()}


def idle_of(device: DeviceConfig) -> IdleRule | None:
    """Return the rule for idle dies of a device; `None` if it has none."""
    return beside_on(device).get("idle")


def wear_rules_on(device: DeviceConfig) -> list[Rule]:
    """Return the rules of a device that level wear, as they keep their records side by side."""
    rules = [rule for part, rule in beside_on(device).items() if part in _WEAR]
    memories = side_by_side([rule.memory for rule in rules])
    return [replace(rule, memory=memory) for rule, memory in zip(rules, memories, strict=True)]


#: Those of the rules beside the main one that level wear.
_WEAR = ("allocation", "levelling")


def with_rules(
    device: DeviceConfig,
    beside: Mapping[str, Rule] | None = None,
    victim: VictimRule | None = None,
    where: str | None = None,
    **changes: Any,
) -> DeviceConfig:
    """Return the device with rules, and with other values in some fields, checked as a whole.

    Args:
        device: to change; it is returned itself if it has all that.
        beside: rules by the attribute of a policy that has them, in place of those that the FTL of the device
            names; an idle rule also in place of `gc.background_fraction`.
        victim: chooses victims; the memory it needs is added, and that of another rule is kept.
        where: what errors start with, by default the name of the device.
        changes: values by the name of the field.

    Raises:
        SsdgymError: there is no such rule, or the values do not fit each other.
    """
    ftl = device.ftl
    if isinstance(ftl, PageFtl):
        rules = {**beside_on(device), **(beside or {})}
        try:
            needs = _needs_of(device.model_copy(update=changes), rules, victim)
        except ValueError:  # a shape that cannot be; the device is refused below
            needs = ftl.needs
        labels = {part: rules[part].label if part in rules else None for part in BESIDE}
        if (labels, needs) != (_named_by(ftl), ftl.needs):
            values = {field: labels[part] for part, field in _FIELDS.items() if part != "idle"}
            bare = ftl.model_copy(update={**values, "rules": None})
            filled: dict[str, Any] = {} if needs == bare.needs else {"rules": needs}
            if labels["idle"] is not None:
                gc = {"idle": labels["idle"], "background_fraction": None}
                filled["gc"] = ftl.gc.model_copy(update=gc)
            changes["ftl"] = bare.model_copy(update=filled)
    else:
        _check_without_rules(beside or {}, victim, f"{where or device.name}: ftl.mapping {ftl.mapping}")
    return changed_device(device, where, **changes) if changes else device


def _check_without_rules(beside: Mapping[str, Rule], victim: VictimRule | None, where: str) -> None:
    """Raise if a policy has rules that only the page family has a place for."""
    for rule in beside.values():
        raise SsdgymError(f"{where} takes no {rule.called}; name a victim rule alone, such as greedy.")
    if victim is not None and victim.keeps_memory:
        raise SsdgymError(
            f"{where} takes no victim rule that keeps records or hooks events, as {victim.name} does; choose "
            "another one, such as greedy."
        )


def _needs_of(device: DeviceConfig, beside: Mapping[str, Any], victim: VictimRule | None) -> RuleNeeds:
    """Return what rules need of a device; a victim rule without memory leaves that of another one alone."""
    ftl, placement, idle = PageFtl.of(device.ftl), beside["placement"], beside.get("idle")
    wear = [rule for part, rule in beside.items() if part in _WEAR]
    needs = RuleNeeds(
        streams=max(placement.streams, ftl.min_streams),
        relocation_streams=max(placement.relocation_streams, ftl.min_streams),
        targets=placement.targets,
        place=_bytes_of(device, [placement, *trackers_of(device)]),
        victim=ftl.needs.victim,
        shared=ftl.needs.shared and placement.label == ftl.placement,
        idle=_bytes_of(device, [] if idle is None else [idle]),
        wear=_bytes_of(device, wear),
    )
    if victim is None:
        return needs
    if placement.name in victim.shares_memory_with:
        return needs.model_copy(update={"shared": True, "victim": MemoryBytes()})
    if victim.needs_placement:
        shared = victim.shares_memory_with[0]
        raise SsdgymError(
            f"policy {victim.name} uses the memory of the placement {shared} and cannot run with "
            f"{placement.name}; write {victim.label}+{shared}."
        )
    own = _bytes_of(device, [victim])
    return needs if own == MemoryBytes() else needs.model_copy(update={"victim": own, "shared": False})


def _bytes_of(device: DeviceConfig, rules: Sequence[Rule]) -> MemoryBytes:
    """Return the sizes of the records, and of the table, of rules that lie side by side on a device."""
    sizes = {
        part: record.itemsize
        for memory in side_by_side([rule.memory for rule in rules])
        for part, record in vars(memory).items()
        if record is not None
    }
    words = [rule.table(device) for rule in rules if rule.table is not None]
    stated = [rule.controller_bytes(device) for rule in rules if rule.controller_bytes is not None]
    tables = [rule.name for rule in rules if rule.table is not None]
    if len(tables) > 1:
        raise SsdgymError(
            f"device {device.name}: {', '.join(tables)} have tables, and one can; leave the others out."
        )
    sizes["table"] = 4 * sum(words)
    return MemoryBytes(**sizes, controller=sum(stated) if stated else None)
