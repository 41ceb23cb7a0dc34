"""Rules that the FTL of a device names, the device fields that they need, and the layout of their records.

The rules of one role (see `ROLES`) share the records of pages, blocks and streams; each has its own fields.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from ssdgym.config.device import DeviceConfig, changed_device
from ssdgym.config.page import PageFtl
from ssdgym.engine.core.handle import Memory
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import rule_of_kind
from ssdgym.policy.rules import ABOUT, Kind, Rule

#: The kinds of rules that a policy may have beside its victim rule, and the field of the FTL that names each.
BESIDE: dict[Kind, str] = {
    "placement": "placement",
    "idle": "gc.idle",
    "allocation": "block_allocation",
    "levelling": "levelling",
}
#: The fields for all rules that an FTL can name. It names a victim rule only if the rule keeps records.
_NAMED: dict[Kind, str] = {"victim": "victim", **BESIDE}
#: A role is one or more kinds of rules that share records. Trackers also have the role `place`.
Role = Literal["victim", "place", "idle", "wear"]
ROLES: dict[Role, tuple[Kind, ...]] = {
    "victim": ("victim",),
    "place": ("placement",),
    "idle": ("idle",),
    "wear": ("allocation", "levelling"),
}
#: The fields of each rule begin at a multiple of this number of bytes in a shared record.
_ALIGNED = 8


def _named_by(ftl: PageFtl) -> dict[Kind, str | None]:
    return {kind: attrgetter(field)(ftl) for kind, field in _NAMED.items()}


def _named_on(device: DeviceConfig, kinds: Iterable[Kind]) -> dict[Kind, Rule]:
    """Return the rules of `kinds` that a device's FTL names; only FTLs of the page family name rules."""
    if not isinstance(device.ftl, PageFtl):
        return {}
    named = _named_by(device.ftl)
    return {
        kind: rule_of_kind(kind, text, f"device {device.name}: ftl.{_NAMED[kind]}")
        for kind in kinds
        if (text := named[kind]) is not None
    }


def beside_on(device: DeviceConfig) -> dict[Kind, Rule]:
    """Return the rules of the kinds `BESIDE` that the FTL of a device names, by kind."""
    return _named_on(device, BESIDE)


def rules_on(device: DeviceConfig, role: Role = "place") -> list[Rule]:
    """Return the rules that a device's FTL names for one role, with a common layout of their records.

    In the role `place`, the placement is the first rule, and the trackers follow it.
    """
    rules = list(_named_on(device, ROLES[role]).values())
    if role == "place" and isinstance(device.ftl, PageFtl):
        rules += (tracking(text, f"device {device.name}: ftl.trackers") for text in device.ftl.trackers)
    memories = side_by_side([rule.memory for rule in rules])
    return [replace(rule, memory=memory) for rule, memory in zip(rules, memories, strict=True)]


def tracking(text: str, where: str) -> Rule:
    """Return the rule that a text in `ftl.trackers` names: a tracker, or a placement that places no page.

    Raises:
        SsdgymError: there is no such rule or parameter, or the rule has a hook of `period`.
    """
    rule = rule_of_kind(("placement", "tracker"), text, where)
    if "period" in rule.hooks:
        raise SsdgymError(f"{where} {text} has a function for periods, which only the placement can have.")
    return rule if rule.function or rule.kind == "tracker" else replace(rule, function=rule.equivalent)


def side_by_side(memories: Sequence[Memory]) -> list[Memory]:
    """Return the memory of each rule with its fields at offsets that no other rule uses in shared records."""
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
    """Return the device with these rules in its FTL and with changed fields, checked as a whole.

    Args:
        device: the device. It is returned unchanged if it has these rules and values already.
        beside: by kind, rules that replace those that the FTL of the device names. An idle rule also sets
            `gc.background_fraction` to `None`.
        victim: the victim rule. `ftl.victim` is set to it if it keeps records or uses those of a placement.
        where: first words of errors, by default the name of the device.
        changes: new values of fields of the device, by name.

    Raises:
        SsdgymError: there is no such rule, or the device cannot have these rules or values together.
    """
    ftl = device.ftl
    if isinstance(ftl, PageFtl):
        rules = {**beside_on(device), **(beside or {})}
        labels = {kind: rules[kind].label if kind in rules else None for kind in BESIDE}
        labels["victim"] = ftl.victim
        if victim is not None and (victim.memory != Memory() or victim.needs_placement):
            _check_placement(victim, rules["placement"])
            labels["victim"] = victim.label
        if labels != _named_by(ftl):
            values: dict[str, Any] = {field: labels[kind] for kind, field in _NAMED.items() if kind != "idle"}
            if labels["idle"] is not None:
                gc = {"idle": labels["idle"], "background_fraction": None}
                values["gc"] = ftl.gc.model_copy(update=gc)
            changes["ftl"] = ftl.model_copy(update=values)
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
    found = changed_device(device, where, **changes) if changes else device
    for role in ROLES if isinstance(ftl, PageFtl) else ():
        tables = [rule.name for rule in rules_on(found, role) if rule.table is not None]
        if len(tables) > 1:
            names = ", ".join(tables)
            raise SsdgymError(f"device {found.name}: {names} have tables, and one can; leave the others out.")
    return found


def _check_placement(victim: Rule, placement: Rule) -> None:
    """Raise if a victim rule needs the records of a placement, and `placement` is none that it can use."""
    if victim.needs_placement and placement.name not in victim.shares_memory_with:
        shared = victim.shares_memory_with[0]
        raise SsdgymError(
            f"policy {victim.name} uses the memory of the placement {shared} and cannot run with "
            f"{placement.name}; write {victim.label}+{shared}."
        )


def streams_of(device: DeviceConfig) -> int:
    """Return the write streams of a plane: those of the placement, but at least `ftl.min_streams`."""
    (placement,) = _named_on(device, ("placement",)).values()
    return max(placement.streams, PageFtl.of(device.ftl).min_streams)
