"""Register functions as rules: decorators for each kind of decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypedDict, Unpack, cast

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.page import STREAMS
from ssdgym.engine.core.handle import Memory
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import register
from ssdgym.policy.rules import (
    AllocationRule,
    ChoiceT,
    HookT,
    IdleRule,
    LevellingRule,
    MergeRule,
    PlacementRule,
    Rule,
    Tracker,
    VictimRule,
    choice_of,
)

#: Names and types of the fields of a record, as for numpy: `[("last", "i8"), ("counts", "i4", (8,))]`.
Fields = Sequence[tuple[str, str] | tuple[str, str, tuple[int, ...]]]


class MergeOptions(TypedDict, total=False):
    """What all decorators of rules take beside their own arguments.

    Attributes:
        parameters: names and defaults, in the order in which the function finds them in `parameters`.
        minimum: the smallest values allowed.
        maximum: the largest values allowed.
        trusted: compile the rule without checks: an index out of range then ends the process, or is not
            noticed.
    """

    parameters: Mapping[str, float]
    minimum: Mapping[str, float]
    maximum: Mapping[str, float]
    trusted: bool


class RuleOptions(MergeOptions, total=False):
    """What decorators of rules with records of their own take besides: fields, zero at the start.

    Attributes:
        page: fields of a record per logical page.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        table: on a device, how many words (u4, zero at the start) `view.table` has.
        controller_bytes: on a device, the bytes that a controller would need for all that, for the metrics;
            by default as many as it has.
    """

    page: Fields
    block: Fields
    stream: Fields
    memory: Fields
    table: Callable[[DeviceConfig], int]
    controller_bytes: Callable[[DeviceConfig], int]


class RuleFunction(Protocol):
    """A function registered as a rule."""

    def __call__(self, *arguments: Any) -> int:
        """Take a decision."""

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event."""


#: What registers the function below it.
Decorator = Callable[[Callable[..., int]], RuleFunction]


def victim_policy(
    name: str,
    *,
    source: str,
    compiled: bool = True,
    erase_unit: str | None = None,
    isolation: str = "none",
    multi_plane: str | None = None,
    shares_memory_with: str | Sequence[str] = (),
    equivalent: Callable[..., int] | None = None,
    **options: Unpack[RuleOptions],
) -> Decorator:
    """Register the decorated function as a victim rule.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        compiled: compile it into the engine, or call it in Python at every decision.
        erase_unit: what the rule has one erase take, if that is not whole blocks on any device: a device of
            another erase unit is run with this one, and with `isolation`.
        isolation: see `erase_unit`.
        multi_plane: which planes of a die take part in one erase, if that is not for the device to say.
        shares_memory_with: placements whose memory the rule uses where it runs with one of them, and whose
            hooks then stand for its own. Without memory of its own it runs with no other placement.
        equivalent: a function that chooses the same without memory, by which the rule is shown where another
            one decides.
        options: see `RuleOptions`.
    """

    def chosen(kind: type[ChoiceT], value: str | None, argument: str) -> ChoiceT | None:
        return None if value is None else choice_of(kind, value, f"policy {name}: {argument}")

    return _decorator(
        VictimRule,
        name,
        source,
        options,
        compiled=compiled,
        erase_unit=chosen(EraseUnit, erase_unit, "erase_unit"),
        isolation=chosen(Isolation, isolation, "isolation"),
        multi_plane=chosen(MultiPlane, multi_plane, "multi_plane"),
        shares_memory_with=(
            (shares_memory_with,) if isinstance(shares_memory_with, str) else tuple(shares_memory_with)
        ),
        equivalent=equivalent,
    )


def placement_policy(
    name: str,
    *,
    source: str,
    streams: int,
    relocation_streams: int,
    relocated_to: int | None = None,
    targets: bool = False,
    counted: Sequence[str] = (),
    oracle: bool = False,
    online: bool = False,
    **options: Unpack[RuleOptions],
) -> Decorator:
    """Register the decorated function as a placement.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        streams: write streams of a plane; each keeps a block open.
        relocation_streams: how many of them the relocated pages of a round can go to; with several, a plane
            keeps three free blocks in place of two; 0: they go to sub-blocks of the pool.
        relocated_to: the stream that all relocated pages go to; the function then places host pages only.
        targets: let it name sub-blocks of the pool besides streams: `MAX_STREAMS` + the sub-block. The data
            that a host page replaces is then invalid before the function is called.
        counted: fields of `memory` that are metrics, cleared by the rule where `view.counters[0]` is.
        oracle: give the function for periods the future of the run; such a placement is a bound, which only
            `Simulator.run` carries out, untimed.
        online: list it in tables among learned policies, as one that learns on the device it runs on.
        options: see `RuleOptions`.
    """
    if not (0 if targets else 1) <= relocation_streams <= streams <= MAX_STREAMS:
        raise SsdgymError(
            f"policy {name} declares {streams} streams, {relocation_streams} of them for relocated pages; at "
            f"least 1 of these and at most {MAX_STREAMS} in all are possible."
        )
    return _decorator(
        PlacementRule,
        name,
        source,
        options,
        streams=streams,
        relocation_streams=relocation_streams,
        relocated_to=relocated_to,
        targets=targets,
        counted=tuple(counted),
        oracle=oracle,
        online=online,
    )


def idle_policy(name: str, *, source: str, oracle: bool = False, **options: Unpack[RuleOptions]) -> Decorator:
    """Register the decorated function as a rule for idle dies.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        oracle: pass it the time to the next arrival, which a closed loop does not have.
        options: see `RuleOptions`.
    """
    return _decorator(IdleRule, name, source, options, oracle=oracle)


def allocation_policy(name: str, *, source: str, **options: Unpack[RuleOptions]) -> Decorator:
    """Register the decorated function as a rule that chooses which free block is opened.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        options: see `RuleOptions`.
    """
    return _decorator(AllocationRule, name, source, options)


def levelling_policy(
    name: str, *, source: str, oracle: bool = False, **options: Unpack[RuleOptions]
) -> Decorator:
    """Register the decorated function as a rule that levels wear.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        oracle: move pages to the free block with least erases left, which no device has, not the most worn.
        options: see `RuleOptions`.
    """
    return _decorator(LevellingRule, name, source, options, oracle=oracle)


def merge_policy(
    name: str, *, source: str, compiled: bool = True, **options: Unpack[MergeOptions]
) -> Decorator:
    """Register the decorated function as a rule that chooses how blocks are merged.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        compiled: compile it into the engine, or call it in Python at every decision.
        options: see `MergeOptions`.
    """
    return _decorator(MergeRule, name, source, options, compiled=compiled)


def built_in_placement(name: str, *, source: str, equivalent: Callable[..., int]) -> None:
    """Register a placement that is a part of the engine.

    Args:
        name: that it has in the engine's configuration.
        source: names the paper or book it is from.
        equivalent: a function that chooses the same, to show its choices where another one places.
    """
    register(PlacementRule(name, None, source, streams=STREAMS.get(name, 1), equivalent=equivalent))


def tracker(name: str, *, source: str, **options: Unpack[RuleOptions]) -> Tracker:
    """Register a rule that decides nothing, and follows a device in hooks: `rule.on(event)` decorates one.

    Args:
        name: by which it is looked up.
        source: says what it is for.
        options: see `RuleOptions`.
    """
    rule = Tracker(name, None, source, **_fields_of(name, options, RuleOptions))
    register(rule)
    return rule


def _decorator(kind: type[Rule], name: str, source: str, options: Mapping[str, Any], **own: Any) -> Decorator:
    """Return the decorator that registers a function as a rule of a kind, with hooks by `function.on`."""
    fields = _fields_of(name, options, MergeOptions if kind is MergeRule else RuleOptions)

    def decorate(function: Callable[..., int]) -> RuleFunction:
        rule = kind(name, function, source, **fields, **own)
        register(rule)
        registered = cast(Any, function)
        registered.on = rule.on
        return cast(RuleFunction, registered)

    return decorate


def _fields_of(name: str, options: Mapping[str, Any], known: Any) -> dict[str, Any]:
    """Return options as fields of a rule."""
    unknown = set(options) - set(known.__annotations__)
    if unknown:
        raise TypeError(f"policy {name}: unexpected keyword argument {min(unknown)!r}")
    records = [options.get(part, ()) for part in ("page", "block", "stream", "memory")]
    fields: dict[str, Any] = {key: dict(options.get(key, {})) for key in ("parameters", "minimum", "maximum")}
    dtypes: list[Any] = [np.dtype(list(record), align=True) if record else None for record in records]
    dtypes.append(np.dtype("u4") if options.get("table") else None)
    memory = Memory(*dtypes)
    own = {key: options[key] for key in ("table", "controller_bytes", "trusted") if key in options}
    return fields | {"memory": memory} | own
