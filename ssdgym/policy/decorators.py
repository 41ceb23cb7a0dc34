"""Register functions as rules: decorators for each kind of decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from ssdgym.config.ftl import STREAMS
from ssdgym.engine.core.handle import Memory
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.policy.registry import register
from ssdgym.policy.rules import (
    HookT,
    IdleRule,
    MergeRule,
    PlacementRule,
    Rule,
    Tracker,
    VictimRule,
    choice_of,
)

#: Names and types of the fields of a record, as for numpy: `[("last", "i8"), ("counts", "i4", (8,))]`.
Fields = Sequence[tuple[str, str] | tuple[str, str, tuple[int, ...]]]


class RuleFunction(Protocol):
    """A function registered as a rule."""

    def __call__(self, *arguments: Any) -> int:
        """Take a decision."""

    def on(self, event: str) -> Callable[[HookT], HookT]:
        """Register the decorated function as the rule's hook of an event."""


def victim_policy(
    name: str,
    *,
    source: str,
    compiled: bool = True,
    parameters: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    erase_unit: str | None = None,
    isolation: str = "none",
    multi_plane: str | None = None,
    page: Fields = (),
    block: Fields = (),
    stream: Fields = (),
    memory: Fields = (),
    shares_memory_with: str = "",
    trusted: bool = False,
) -> Callable[[Callable[..., int]], RuleFunction]:
    """Register the decorated function as a victim rule.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        compiled: compile it into the engine, or call it in Python at every decision.
        parameters: names and defaults, in the order in which the function finds them in `parameters`.
        minimum: the smallest values allowed.
        maximum: the largest values allowed.
        erase_unit: what the rule has one erase take, if that is not whole blocks on any device: a device of
            another erase unit is run with this one, and with `isolation`.
        isolation: see `erase_unit`.
        multi_plane: which planes of a die take part in one erase, if that is not for the device to say.
        page: fields of a record per logical page that the rule keeps, zero at the start.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        shares_memory_with: a placement, whose memory the rule uses in place of its own.
        trusted: compile it without checks: an index out of range then ends the process, or is not noticed.

    Returns:
        The decorator, which returns the function itself.

    Raises:
        SsdgymError: the name is taken, there are too many parameters, or no such way to erase.
    """
    where = f"policy {name}"

    def decorate(function: Callable[..., int]) -> RuleFunction:
        return _registered(
            VictimRule(
                name,
                function,
                source,
                compiled,
                dict(parameters or {}),
                dict(minimum or {}),
                dict(maximum or {}),
                _memory(page, block, stream, memory),
                trusted=trusted,
                erase_unit=None
                if erase_unit is None
                else choice_of(EraseUnit, erase_unit, f"{where}: erase_unit"),
                isolation=choice_of(Isolation, isolation, f"{where}: isolation"),
                multi_plane=None
                if multi_plane is None
                else choice_of(MultiPlane, multi_plane, f"{where}: multi_plane"),
                shares_memory_with=shares_memory_with,
            )
        )

    return decorate


def placement_policy(
    name: str,
    *,
    source: str,
    streams: int,
    relocation_streams: int,
    parameters: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    page: Fields = (),
    block: Fields = (),
    stream: Fields = (),
    memory: Fields = (),
    foresight: bool = False,
    trusted: bool = False,
) -> Callable[[Callable[..., int]], RuleFunction]:
    """Register the decorated function as a placement.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        streams: write streams of a plane; each keeps a block open.
        relocation_streams: how many of them the relocated pages of a round can go to; with several, a plane
            keeps three free blocks in place of two.
        parameters: names and defaults, in the order in which the function finds them in `parameters`.
        minimum: the smallest values allowed.
        maximum: the largest values allowed.
        page: fields of a record per logical page that the rule keeps, zero at the start.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        foresight: give the function for periods the future of the run; such a placement is a bound, which
            only `Simulator.run` carries out, untimed.
        trusted: compile it without checks: an index out of range then ends the process, or is not noticed.

    Returns:
        The decorator, which returns the function itself.

    Raises:
        SsdgymError: the name is taken, or there are too many parameters or streams.
    """
    if not 1 <= relocation_streams <= streams <= MAX_STREAMS:
        raise SsdgymError(
            f"policy {name} declares {streams} streams, {relocation_streams} of them for relocated pages; at "
            f"least 1 of these and at most {MAX_STREAMS} in all are possible."
        )

    def decorate(function: Callable[..., int]) -> RuleFunction:
        return _registered(
            PlacementRule(
                name,
                function,
                source,
                True,
                dict(parameters or {}),
                dict(minimum or {}),
                dict(maximum or {}),
                _memory(page, block, stream, memory),
                trusted=trusted,
                streams=streams,
                relocation_streams=relocation_streams,
                foresight=foresight,
            )
        )

    return decorate


def idle_policy(
    name: str,
    *,
    source: str,
    clairvoyant: bool = False,
    parameters: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    page: Fields = (),
    block: Fields = (),
    stream: Fields = (),
    memory: Fields = (),
    trusted: bool = False,
) -> Callable[[Callable[..., int]], RuleFunction]:
    """Register the decorated function as a rule for idle dies.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        clairvoyant: pass it the time to the next arrival, which a closed loop does not have.
        parameters: names and defaults, in the order in which the function finds them in `parameters`.
        minimum: the smallest values allowed.
        maximum: the largest values allowed.
        page: fields of a record per logical page that the rule keeps, zero at the start.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        trusted: compile it without checks: an index out of range then ends the process, or is not noticed.

    Returns:
        The decorator, which returns the function itself.

    Raises:
        SsdgymError: the name is taken, or there are too many parameters.
    """

    def decorate(function: Callable[..., int]) -> RuleFunction:
        return _registered(
            IdleRule(
                name,
                function,
                source,
                True,
                dict(parameters or {}),
                dict(minimum or {}),
                dict(maximum or {}),
                _memory(page, block, stream, memory),
                trusted=trusted,
                clairvoyant=clairvoyant,
            )
        )

    return decorate


def merge_policy(
    name: str,
    *,
    source: str,
    compiled: bool = True,
    parameters: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    trusted: bool = False,
) -> Callable[[Callable[..., int]], RuleFunction]:
    """Register the decorated function as a rule that chooses how blocks are merged.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        compiled: compile it into the engine, or call it in Python at every decision.
        parameters: names and defaults, in the order in which the function finds them in `parameters`.
        minimum: the smallest values allowed.
        maximum: the largest values allowed.
        trusted: compile it without checks: an index out of range then ends the process, or is not noticed.

    Returns:
        The decorator, which returns the function itself.

    Raises:
        SsdgymError: the name is taken, or there are too many parameters.
    """

    def decorate(function: Callable[..., int]) -> RuleFunction:
        limits = dict(minimum or {}), dict(maximum or {})
        return _registered(
            MergeRule(name, function, source, compiled, dict(parameters or {}), *limits, trusted=trusted)
        )

    return decorate


def built_in_placement(name: str, *, source: str, equivalent: Callable[..., int] | None = None) -> None:
    """Register a placement that is a part of the engine.

    Args:
        name: that it has in the engine's configuration.
        source: names the paper or book it is from.
        equivalent: a function that chooses the same, to show its choices where another one places.

    Raises:
        SsdgymError: the name is taken.
    """
    register(PlacementRule(name, None, source, streams=STREAMS.get(name, 1), equivalent=equivalent))


def tracker(
    name: str,
    *,
    source: str,
    page: Fields = (),
    block: Fields = (),
    stream: Fields = (),
    memory: Fields = (),
    trusted: bool = False,
) -> Tracker:
    """Register a rule that decides nothing, and follows what happens on a device in its hooks.

    Args:
        name: by which it is looked up.
        source: says what it is for.
        page: fields of a record per logical page that it keeps, zero at the start.
        block: fields of a record per block.
        stream: fields of a record per plane and stream.
        memory: fields of one record.
        trusted: compile its hooks without checks: an index out of range then ends the process, or is not
            noticed.

    Returns:
        The rule: `rule.on(event)` is the decorator of a hook.

    Raises:
        SsdgymError: the name is taken.
    """
    rule = Tracker(name, None, source, memory=_memory(page, block, stream, memory), trusted=trusted)
    register(rule)
    return rule


def _memory(*parts: Fields) -> Memory:
    return Memory(*(np.dtype(list(fields), align=True) if fields else None for fields in parts))


def _registered(rule: Rule) -> RuleFunction:
    """Register a rule, and let its function register the hooks."""
    register(rule)
    function = cast(Any, rule.function)
    function.on = rule.on
    return cast(RuleFunction, function)
