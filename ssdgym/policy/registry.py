"""The policies there are: registered by decorator or by name, ours and those of installed packages."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import Any

from ssdgym.config.device import DeviceConfig, FtlConfig, load_device, with_ftl
from ssdgym.config.loading import Source
from ssdgym.errors import SsdgymError
from ssdgym.policy.names import PLACEMENTS, check_name, hint, parse_policy
from ssdgym.policy.policy import MAX_PARAMETERS, EraseUnit, Isolation, MultiPlane, Policy

ENTRY_POINT_GROUP = "ssdgym.policies"


@dataclass(frozen=True)
class _Named:
    """A composition with a name of its own; its rule may be registered after it."""

    composition: str
    source: str
    erase_unit: EraseUnit | None
    isolation: Isolation
    multi_plane: MultiPlane | None


_RULES: dict[str, Policy] = {}
_NAMED: dict[str, _Named] = {}


def victim_policy(
    name: str,
    *,
    source: str,
    compiled: bool = True,
    parameters: Mapping[str, float] | None = None,
    least: Mapping[str, float] | None = None,
    most: Mapping[str, float] | None = None,
    erase_unit: EraseUnit | None = None,
    isolation: Isolation = "none",
    multi_plane: MultiPlane | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register the decorated function as a victim rule.

    Args:
        name: by which it is looked up.
        source: names the paper or book it is from.
        compiled: compile it into the engine, or call it in Python at every decision.
        parameters: names and defaults, in the order in which the function finds them in ``parameters``.
        least: the smallest values allowed.
        most: the largest values allowed.
        erase_unit: what the rule has one erase take, if that is not whole blocks on any device: a device of
            another erase unit is run with this one, and with ``isolation``.
        isolation: see ``erase_unit``.
        multi_plane: which planes of a die take part in one erase, if that is not for the device to say.
    """
    check_name(name)
    declared = dict(parameters or {})
    if len(declared) > MAX_PARAMETERS:
        raise SsdgymError(
            f"policy {name} declares {len(declared)} parameters; at most {MAX_PARAMETERS} are possible."
        )

    def register(function: Callable[..., int]) -> Callable[..., int]:
        known = _RULES.get(name)
        if known is not None and inspect.getmodule(known.function) is not inspect.getmodule(function):
            raise SsdgymError(
                f"policy {name} is registered already by {known.function.__module__}; choose another name."
            )
        if name in _NAMED:
            raise SsdgymError(f"policy {name} stands for {_NAMED[name].composition}; choose another name.")
        if not compiled and len(inspect.signature(function).parameters) != 4:
            raise SsdgymError(f"policy {name} must take the four arguments (dev, plane, parameters, choice).")
        _RULES[name] = Policy(
            name,
            function,
            source,
            compiled,
            declared,
            least=dict(least or {}),
            most=dict(most or {}),
            erase_unit=erase_unit,
            isolation=isolation,
            multi_plane=multi_plane,
        )
        return function

    return register


def named_policy(
    name: str,
    composition: str,
    *,
    source: str,
    erase_unit: EraseUnit | None = None,
    isolation: Isolation = "none",
    multi_plane: MultiPlane | None = None,
) -> None:
    """Give a composition a name, under which it goes in results: ``speedupgc`` for ``gsm+hotness_groups``.

    Args:
        name: by which it is looked up.
        composition: ``RULE``, ``RULE(parameter=value, ...)`` or either with ``+PLACEMENT``.
        source: names the paper or book it is from.
        erase_unit: what one erase takes, in place of what the rule asks for.
        isolation: for devices of another erase unit than that.
        multi_plane: which planes of a die take part in one erase, in place of what the rule asks for.

    Raises:
        SsdgymError: the name is taken, or the composition is not of that form.
    """
    check_name(name)
    parse_policy(composition)
    entry = _Named(composition, source, erase_unit, isolation, multi_plane)
    if name in _RULES or _NAMED.get(name, entry) != entry:
        raise SsdgymError(f"policy {name} is registered already; choose another name for {composition}.")
    _NAMED[name] = entry


def _load_plugins() -> None:
    importlib.import_module("ssdgym.baselines")
    for plugin in entry_points(group=ENTRY_POINT_GROUP):
        plugin.load()


def available_policies() -> dict[str, Policy]:
    """All registered policies by name: the rules, and the compositions that have a name of their own."""
    _load_plugins()
    return {name: _registered(name) for name in sorted({*_RULES, *_NAMED})}


def get_policy(spec: str | Policy) -> Policy:
    """A policy by what it is written as: ``greedy``, ``d_choices(d=5)``, ``greedy+sep_gc``, ``speedupgc``.

    Raises:
        SsdgymError: there is no such policy, parameter or placement, or a named one is given either.
    """
    if isinstance(spec, Policy):
        return spec
    if not isinstance(spec, str):
        raise SsdgymError(f"policy {spec!r} is neither a name nor a Policy.")
    written = parse_policy(spec)
    policy = _registered(written.name).with_parameters(written.parameters)
    return policy if written.placement is None else policy.with_placement(written.placement)


def _registered(name: str) -> Policy:
    if name not in _RULES and name not in _NAMED:
        _load_plugins()
    if name in _RULES:
        return _RULES[name]
    if name not in _NAMED:
        raise SsdgymError(f"policy {name} does not exist; {hint(name, sorted({*_RULES, *_NAMED}))}")
    return _composed(name, _NAMED[name])


def _composed(name: str, entry: _Named) -> Policy:
    written = parse_policy(entry.composition)
    if written.name not in _RULES:
        _load_plugins()
    if written.name not in _RULES:
        raise SsdgymError(
            f"policy {name} stands for {entry.composition}, and there is no victim rule {written.name}; "
            f"{hint(written.name, sorted(_RULES))}"
        )
    rule = _RULES[written.name].with_parameters(written.parameters)
    if entry.erase_unit is not None:
        rule = replace(rule, erase_unit=entry.erase_unit, isolation=entry.isolation)
    if entry.multi_plane is not None:
        rule = replace(rule, multi_plane=entry.multi_plane)
    return replace(
        rule, name=name, source=entry.source, placement=written.placement, stands_for=entry.composition
    )


def device_for(
    device: Source | DeviceConfig,
    ftl: FtlConfig | dict[str, Any] | None = None,
    policy: str | Policy | None = None,
) -> DeviceConfig:
    """The device as a policy runs it, with another FTL or some of its fields changed before.

    Raises:
        SsdgymError: they do not fit each other, or ``ftl`` and the policy name different placements.
    """
    if policy is None:
        return with_ftl(load_device(device), ftl)
    chosen = get_policy(policy)
    if isinstance(ftl, dict) and ftl.get("placement") in PLACEMENTS:
        # Applied with the policy's erase unit, without which the device may not be able to have it.
        if ftl["placement"] != chosen.placement:
            chosen = chosen.with_placement(ftl["placement"])
        ftl = {key: value for key, value in ftl.items() if key != "placement"}
    return chosen.device(with_ftl(load_device(device), ftl))
