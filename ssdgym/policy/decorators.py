"""Register functions as rules: decorators for each kind of decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Protocol, TypedDict, Unpack, cast

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import STREAMS
from ssdgym.engine.core.handle import Memory
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.policy.registry import register
from ssdgym.policy.rules import (
    AllocationRule,
    HookT,
    IdleRule,
    LevellingRule,
    MergeRule,
    PlacementRule,
    Rule,
    RuleT,
    Tracker,
    VictimRule,
    choice_of,
)

#: Names and types of the fields of a record, as for numpy: `[("last", "i8"), ("counts", "i4", (8,))]`.
Fields = Sequence[tuple[str, str] | tuple[str, str, tuple[int, ...]]]
#: A default, alone or before the smallest and the largest value allowed.
Parameter = float | tuple[float, ...]


class RuleOptions(TypedDict, total=False):
    """What rules declare; those of a kind alone are described there, such as `streams` in `PlacementRule`.

    Attributes:
        parameters: names and defaults, in the order in which the function finds them in `parameters`; with
            bounds as `(default, least)` or `(default, least, most)`.
        trusted: compile the rule without checks: an index out of range then ends the process, or is not
            noticed.
        compiled: compile a victim or merge rule into the engine, or call it in Python at every decision.
        page: fields of a record per logical page, zero at the start.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        table: on a device, how many words (u4, zero at the start) `view.table` has.
        controller_bytes: on a device, the bytes that a controller would need for all that, for the metrics;
            by default as many as it has.
        erase_unit: what a victim rule has one erase take, if that is not whole blocks on any device: a device
            of another erase unit is run with this one, and with `isolation`.
        isolation: see `erase_unit`.
    """

    parameters: Mapping[str, Parameter]
    trusted: bool
    compiled: bool
    page: Fields
    block: Fields
    stream: Fields
    memory: Fields
    table: Callable[[DeviceConfig], int]
    controller_bytes: Callable[[DeviceConfig], int]
    erase_unit: str | None
    isolation: str
    multi_plane: str | None
    shares_memory_with: str | Sequence[str]
    equivalent: Callable[..., int] | None
    streams: int
    relocation_streams: int
    relocated_to: int | None
    targets: bool
    counted: Sequence[str]
    oracle: bool
    online: bool


#: Options that are records, as the parts of a `Memory` are called.
_RECORDS = {"page": "page", "block": "block", "stream": "stream", "memory": "device"}
#: Those that all rules but merge rules have.
_KEPT = {*_RECORDS, "table", "controller_bytes"}
_CHOICES = {"erase_unit": EraseUnit, "isolation": Isolation, "multi_plane": MultiPlane}


class RuleFunction(Protocol):
    """A function registered as a rule."""

    def __call__(self, *arguments: Any) -> int:
        """Take a decision."""

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event."""


#: What registers the function below it.
Decorator = Callable[[Callable[..., int]], RuleFunction]


def _options_of(kind: type[Rule]) -> set[str]:
    """Return the options that rules of a kind take."""
    own = {one.name for one in fields(kind)} & set(RuleOptions.__annotations__) | _KEPT
    own -= set() if kind in (VictimRule, MergeRule) else {"compiled"}
    return own - (_KEPT if kind is MergeRule else set())


def _rule(kind: type[RuleT], name: str, source: str, function: Any, options: Mapping[str, Any]) -> RuleT:
    """Make a rule of what it declares, and register it."""
    unknown = set(options) - _options_of(kind)
    if unknown:
        raise TypeError(f"policy {name}: unexpected keyword argument {min(unknown)!r}")
    own: dict[str, Any] = {key: value for key, value in options.items() if key not in _RECORDS}
    records = {
        part: np.dtype(list(options[key]), align=True) for key, part in _RECORDS.items() if options.get(key)
    }
    table = np.dtype("u4") if options.get("table") else None
    bounded = {key: value for key, value in own.get("parameters", {}).items() if isinstance(value, tuple)}
    if bounded:
        own["bounds"] = {key: (*value[1:], np.inf)[:2] for key, value in bounded.items()}
        own["parameters"] = {**own["parameters"], **{key: value[0] for key, value in bounded.items()}}
    for key, choice in _CHOICES.items():
        if own.get(key) is not None:
            own[key] = choice_of(choice, own[key], f"policy {name}: {key}")
    for key in ("shares_memory_with", "counted"):
        if key in own:
            own[key] = (own[key],) if isinstance(own[key], str) else tuple(own[key])
    made = kind(name, function, source, memory=Memory(**records, table=table), **own)
    register(made)
    return made


def rule(kind: type[Rule], name: str, *, source: str, **options: Unpack[RuleOptions]) -> Decorator:
    """Register the decorated function as a rule, with hooks by `function.on`.

    Args:
        kind: of the rule; `victim_policy` and its like fill it in.
        name: by which it is looked up.
        source: names the paper or book it is from.
        options: what it declares.
    """

    def decorate(function: Callable[..., int]) -> RuleFunction:
        registered = cast(Any, function)
        registered.on = _rule(kind, name, source, function, options).on
        return cast(RuleFunction, registered)

    return decorate


victim_policy = partial(rule, VictimRule)
placement_policy = partial(rule, PlacementRule)
idle_policy = partial(rule, IdleRule)
allocation_policy = partial(rule, AllocationRule)
levelling_policy = partial(rule, LevellingRule)
merge_policy = partial(rule, MergeRule)


def tracker(name: str, *, source: str, **options: Unpack[RuleOptions]) -> Tracker:
    """Register a rule that decides nothing, and follows a device in hooks: `rule.on(event)` decorates one."""
    return _rule(Tracker, name, source, None, options)


def built_in_placement(name: str, *, source: str, equivalent: Callable[..., int]) -> None:
    """Register a placement that is a part of the engine, with a function that chooses the same.

    That shows its choices where another one places.
    """
    _rule(PlacementRule, name, source, None, {"streams": STREAMS.get(name, 1), "equivalent": equivalent})
