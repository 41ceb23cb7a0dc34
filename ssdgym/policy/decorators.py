"""Register functions as rules: a decorator for each kind of decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from ssdgym.config.page import STREAMS
from ssdgym.engine.core.handle import Memory
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import register
from ssdgym.policy.rules import ABOUT, HookT, Kind, Rule, choice_of

#: Options that declare records, and the attribute of `Memory` that each option sets.
_RECORDS = {"page": "page", "block": "block", "stream": "stream", "memory": "device"}
_KEPT = "parameters trusted page block stream memory table controller_bytes"
#: The options that the decorator of each kind of rules accepts.
_OPTIONS: dict[Kind, str] = {
    "victim": f"{_KEPT} compiled erase_unit isolation multi_plane shares_memory_with equivalent",
    "placement": f"{_KEPT} streams relocation_streams relocated_to targets counted oracle online equivalent",
    "idle": f"{_KEPT} oracle",
    "allocation": _KEPT,
    "levelling": f"{_KEPT} oracle",
    "merge": "parameters trusted compiled",
    "tracker": _KEPT,
}
_CHOICES = {"erase_unit": EraseUnit, "isolation": Isolation, "multi_plane": MultiPlane}


class RuleFunction(Protocol):
    """A function registered as a rule."""

    def __call__(self, *arguments: Any) -> int:
        """Decide; `ssdgym.policy` describes the arguments and the result for each kind of rules."""

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event."""


def _rule(kind: Kind, name: str, source: str, function: Any, options: Mapping[str, Any]) -> Rule:
    """Make a rule from the arguments of its decorator, and register it."""
    unknown = set(options) - set(_OPTIONS[kind].split())
    if "compiled" in unknown:
        raise SsdgymError(f"policy {name}: every {ABOUT[kind].called} is compiled; leave compiled out.")
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
    made = Rule(kind, name, function, source, memory=Memory(**records, table=table), **own)
    register(made)
    return made


def rule(
    kind: Kind, name: str, *, source: str, **options: Any
) -> Callable[[Callable[..., int]], RuleFunction]:
    """Register the decorated function as a rule, and add the decorator `function.on(event)` for its hooks.

    Args:
        kind: kind of the rule. Decorators such as `victim_policy` fill it in.
        name: name of the rule in policies.
        source: the paper or book that describes the rule.
        options: attributes of `Rule` that its kind has. `parameters` maps names to defaults or, for values
            with bounds, to `(default, least)` or `(default, least, most)`. `page` (for each logical page),
            `block`, `stream` (for each stream of each plane) and `memory` (for the device) list the fields of
            the rule's records as pairs of name and dtype; fields are zero at the start.
    """

    def decorate(function: Callable[..., int]) -> RuleFunction:
        registered = cast(Any, function)
        registered.on = _rule(kind, name, source, function, options).on
        return cast(RuleFunction, registered)

    return decorate


victim_policy = partial(rule, "victim")
placement_policy = partial(rule, "placement")
idle_policy = partial(rule, "idle")
allocation_policy = partial(rule, "allocation")
levelling_policy = partial(rule, "levelling")
merge_policy = partial(rule, "merge")


def tracker(name: str, *, source: str, **options: Any) -> Rule:
    """Register a rule that takes no decisions, and return it; its hooks are added with `rule.on(event)`."""
    return _rule("tracker", name, source, None, options)


def built_in_placement(name: str, *, source: str, equivalent: Callable[..., int]) -> None:
    """Register a placement of the engine, and `equivalent`, a function that makes the same choices."""
    _rule("placement", name, source, None, {"streams": STREAMS.get(name, 1), "equivalent": equivalent})
