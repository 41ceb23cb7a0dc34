"""Rules that the FTL of a device names, the fields they need, and their records.

The records of a role lie side by side: what one rule notes of a page stands beside what the others note.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from ssdgym.config.device import DeviceConfig, changed_device
from ssdgym.config.ftl import MemoryBytes, RuleNeeds
from ssdgym.config.page import PageFtl
from ssdgym.engine.core.handle import Memory
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import rule_of_kind
from ssdgym.policy.rules import ABOUT, Kind, Rule

#: The rules that a policy may have beside its main one, which are attributes of it by these names, and the
#: fields in which the FTL of a device names them.
BESIDE: dict[Kind, str] = {
    "placement": "placement",
    "idle": "gc.idle",
    "allocation": "block_allocation",
    "levelling": "levelling",
}
#: Whose records lie side by side, by the name that the engine has for them; trackers are with the placement.
Role = Literal["place", "idle", "wear"]
ROLES: dict[Role, tuple[Kind, ...]] = {
    "place": ("placement",),
    "idle": ("idle",),
    "wear": ("allocation", "levelling"),
}
#: The records of each rule begin at multiples of so many bytes in the common ones.
_ALIGNED = 8


def _named_by(ftl: PageFtl) -> dict[Kind, str | None]:
    return {kind: attrgetter(field)(ftl) for kind, field in BESIDE.items()}


def beside_on(device: DeviceConfig) -> dict[Kind, Rule]:
    """Return the rules that the FTL of a device names, by their kinds; of another family than page none."""
    if not isinstance(device.ftl, PageFtl):
        return {}
    return {
        kind: rule_of_kind(kind, text, f"device {device.name}: ftl.{BESIDE[kind]}")
        for kind, text in _named_by(device.ftl).items()
        if text is not None
    }


def trackers_of(device: DeviceConfig) -> list[Rule]:
    """Return the trackers of a device."""
    if not isinstance(device.ftl, PageFtl):
        return []
    return [tracking(text, f"device {device.name}: ftl.trackers") for text in device.ftl.trackers]


def rules_on(device: DeviceConfig, role: Role = "place") -> list[Rule]:
    """Return the rules of a device in one role, with a common layout of their records.

    With the role `place` the placement is the first, and trackers follow it.
    """
    beside = beside_on(device)
    rules = [beside[kind] for kind in ROLES[role] if kind in beside]
    if role == "place":
        rules += trackers_of(device)
    memories = side_by_side([rule.memory for rule in rules])
    return [replace(rule, memory=memory) for rule, memory in zip(rules, memories, strict=True)]


def tracking(text: str, where: str) -> Rule:
    """Return a rule that can track by what it is written as: a placement, or one that decides nothing.

    Raises:
        SsdgymError: there is no such rule or parameter, or it cannot track.
    """
    rule = rule_of_kind(("placement", "tracker"), text, where)
    if "period" in rule.hooks:
        raise SsdgymError(f"{where} {text} has a function for periods, which only the placement can have.")
    return rule if rule.function or rule.kind == "tracker" else replace(rule, function=rule.equivalent)


def side_by_side(memories: Sequence[Memory]) -> list[Memory]:
    """Return the records of several rules at their places in common ones, of whose size all are."""
    parts = {
        part.name: _within_one([getattr(memory, part.name) for memory in memories]) for part in fields(Memory)
    }
    return [Memory(**{name: records[k] for name, records in parts.items()}) for k in range(len(memories))]


def _within_one(records: Sequence[np.dtype | None]) -> list[np.dtype | None]:
    kept = [record for record in records if record is not None]
    if len(kept) < 2:
        return list(records)
    sizes = [-(-record.itemsize // _ALIGNED) * _ALIGNED for record in kept]
    starts = iter(np.cumsum([0, *sizes]).tolist())
    return [None if record is None else _shifted(record, next(starts), sum(sizes)) for record in records]


def _shifted(record: np.dtype, start: int, size: int) -> np.dtype:
    names: tuple[str, ...] = record.names or ()
    places: Any = record.fields
    return np.dtype(
        {
            "names": list(names),
            "formats": [places[name][0] for name in names],
            "offsets": [places[name][1] + start for name in names],
            "itemsize": size,
        },
        align=True,
    )


def with_rules(
    device: DeviceConfig,
    beside: Mapping[Kind, Rule] | None = None,
    victim: Rule | None = None,
    where: str | None = None,
    **changes: Any,
) -> DeviceConfig:
    """Return the device with rules, and with other values in some fields, checked as a whole.

    Args:
        device: to change; it is returned itself if it has all that.
        beside: rules by their kind, in place of those that the FTL of the device names; an idle rule also in
            place of `gc.background_fraction`.
        victim: chooses victims; the memory it needs is added, and that of another rule is kept.
        where: first words of errors, by default the name of the device.
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
        labels = {kind: rules[kind].label if kind in rules else None for kind in BESIDE}
        if (labels, needs) != (_named_by(ftl), ftl.needs):
            values = {field: labels[kind] for kind, field in BESIDE.items() if kind != "idle"}
            bare = ftl.model_copy(update={**values, "rules": None})
            filled: dict[str, Any] = {} if needs == bare.needs else {"rules": needs}
            if labels["idle"] is not None:
                gc = {"idle": labels["idle"], "background_fraction": None}
                filled["gc"] = ftl.gc.model_copy(update=gc)
            changes["ftl"] = bare.model_copy(update=filled)
    else:
        family = f"{where or device.name}: ftl.mapping {ftl.mapping}"
        for kind in beside or ():
            raise SsdgymError(
                f"{family} takes no {ABOUT[kind].called}; name a victim rule alone, such as greedy."
            )
        if victim is not None and victim.keeps_memory:
            raise SsdgymError(
                f"{family} takes no victim rule that keeps records or hooks events, as {victim.name} does; "
                "choose another one, such as greedy."
            )
    return changed_device(device, where, **changes) if changes else device


def _needs_of(device: DeviceConfig, beside: Mapping[Kind, Rule], victim: Rule | None) -> RuleNeeds:
    """Return what rules need of a device; a victim rule without memory leaves that of another one alone."""
    ftl, placement = PageFtl.of(device.ftl), beside["placement"]

    def kept(role: Role) -> list[Rule]:
        return [beside[kind] for kind in ROLES[role] if kind in beside]

    needs = RuleNeeds(
        streams=max(placement.streams, ftl.min_streams),
        relocation_streams=max(placement.relocation_streams, ftl.min_streams),
        targets=placement.targets,
        place=_bytes_of(device, [placement, *trackers_of(device)]),
        victim=ftl.needs.victim,
        shared=ftl.needs.shared and placement.label == ftl.placement,
        idle=_bytes_of(device, kept("idle")),
        wear=_bytes_of(device, kept("wear")),
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
    stated = [rule.controller_bytes(device) for rule in rules if rule.controller_bytes is not None]
    tables = [(rule.name, rule.table(device)) for rule in rules if rule.table is not None]
    if len(tables) > 1:
        names = ", ".join(name for name, _ in tables)
        raise SsdgymError(f"device {device.name}: {names} have tables, and one can; leave the others out.")
    sizes["table"] = 4 * sum(words for _, words in tables)
    return MemoryBytes(**sizes, controller=sum(stated) if stated else None)
