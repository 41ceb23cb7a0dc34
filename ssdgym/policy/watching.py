"""Rules that run beside each other on a device: its placement, and those that watch.

The records that they keep lie side by side: what one rule notes of a page stands beside what the others note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.ftl import PageFtl
from ssdgym.engine.core.handle import Memory
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import hint, parse_policy
from ssdgym.policy.registry import placement_rule, registered, registered_rules
from ssdgym.policy.rules import PlacementRule, Rule, Watcher

#: The records of each rule begin at multiples of so many bytes in the common ones.
_ALIGNED = 8


def placement_of(device: DeviceConfig) -> PlacementRule | None:
    """Return the placement of a device; `None` for an FTL without placements.

    Raises:
        SsdgymError: there is no placement of that name.
    """
    if not isinstance(device.ftl, PageFtl):
        return None
    return placement_rule(device.ftl.placement, f"device {device.name}: ftl.placement")


def watchers_of(device: DeviceConfig) -> list[Rule]:
    """Return the rules that only watch on a device.

    Raises:
        SsdgymError: there is no such rule, or it cannot watch.
    """
    if not isinstance(device.ftl, PageFtl):
        return []
    return [watching(text, f"device {device.name}: ftl.watchers") for text in device.ftl.watchers]


def rules_on(device: DeviceConfig) -> list[Rule]:
    """Return the placement of a device and the rules that watch, as they keep their records side by side."""
    placement = placement_of(device)
    rules = [] if placement is None else [placement, *watchers_of(device)]
    memories = side_by_side([rule.memory for rule in rules])
    return [replace(rule, memory=memory) for rule, memory in zip(rules, memories, strict=True)]


def watching(text: str, where: str) -> Rule:
    """Return a rule that can watch by what it is written as: a placement, or one that decides nothing.

    Args:
        text: name and parameters.
        where: what errors start with.

    Raises:
        SsdgymError: there is no such rule or parameter, or it cannot watch.
    """
    written = parse_policy(text)
    rule = registered(written[0].name) if len(written) == 1 else None
    if not isinstance(rule, (PlacementRule, Watcher)):
        known = [*registered_rules(PlacementRule), *registered_rules(Watcher)]
        raise SsdgymError(f"{where} {text} does not exist; {hint(text, known)}")
    if rule.periods:
        raise SsdgymError(f"{where} {text} has a function for periods, which only the placement can have.")
    if isinstance(rule, PlacementRule) and rule.function is None:
        if rule.equivalent is None:
            raise SsdgymError(
                f"{where} {text} is a part of the engine and cannot watch; make it the placement of the "
                "device, or name another one, such as sep_gc."
            )
        rule = replace(rule, function=rule.equivalent)
    return rule.with_parameters(written[0].parameters)


def side_by_side(memories: Sequence[Memory]) -> list[Memory]:
    """Return the records of several rules as parts of common ones.

    Args:
        memories: of each rule.

    Returns:
        The same records, each at its place within the common one, of whose size all are.
    """
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
