"""The registry of rules and aliases of ssdgym and of installed packages."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdgym.engine.core.kernel import is_own
from ssdgym.engine.decisions import MAX_PARAMETERS
from ssdgym.enums import EraseUnit, Isolation, MultiPlane
from ssdgym.errors import SsdgymError
from ssdgym.own_code import plugins_of
from ssdgym.policy.names import FOUND_BY, check_name, hint, parse_policy
from ssdgym.policy.rules import ABOUT, Kind, Rule, choice_of


@dataclass(frozen=True)
class Alias:
    """A name for a composition of rules. The rules may be registered later than the alias.

    Attributes:
        name: name by which the composition is looked up.
        composition: text of a policy without aliases, such as `gsm+hotness_groups`.
        source: the paper or book that describes the composition.
        changes: by name, values of attributes that replace those of the main rule.
    """

    name: str
    composition: str
    source: str
    changes: Mapping[str, Any]


_RULES: dict[str, Rule] = {}
_ALIASES: dict[str, Alias] = {}


def policy_alias(
    name: str,
    composition: str,
    *,
    source: str,
    erase_unit: str | None = None,
    multi_plane: str | None = None,
) -> None:
    """Register a name for a composition, which results then show: `speedupgc` for `gsm+hotness_groups`.

    Args:
        name: name of the composition. It may be the name of its placement: `midas` for `chain+midas`.
        composition: text of a policy without aliases.
        source: the paper or book that describes the composition.
        erase_unit: the erase unit that replaces the victim rule's. A device whose erase unit differs is set
            to this unit and to `isolation: none`. `None`: the victim rule's unit.
        multi_plane: which planes of a die one erase may include; `None`: the victim rule's setting.

    Raises:
        SsdgymError: the name is taken or not allowed, or another argument is wrong.
    """
    check_name(name)
    parse_policy(composition)
    changes: dict[str, Any] = {}
    if erase_unit is not None:
        changes["erase_unit"] = choice_of(EraseUnit, erase_unit, f"policy {name}: erase_unit")
        changes["isolation"] = Isolation.NONE
    if multi_plane is not None:
        changes["multi_plane"] = choice_of(MultiPlane, multi_plane, f"policy {name}: multi_plane")
    entry = Alias(name, composition, source, changes)
    _load_own()
    taken = name in _RULES and not _names_own_placement(entry)
    if taken or _ALIASES.get(name, entry) != entry:
        raise SsdgymError(f"policy {name} is registered already; choose another name for {composition}.")
    _ALIASES[name] = entry


def register(rule: Rule) -> None:
    """Register a rule under its name.

    Raises:
        SsdgymError: the name is taken or not allowed, or parameters or arguments are too many or too few.
    """
    check_name(rule.name)
    if rule.function is not None and not is_own(rule.function):
        _load_own()
    name, known = rule.name, _RULES.get(rule.name)
    if len(rule.parameters) > MAX_PARAMETERS:
        raise SsdgymError(
            f"policy {name} declares {len(rule.parameters)} parameters; at most {MAX_PARAMETERS} are "
            "possible."
        )
    if known is not None and _home(known) != _home(rule):
        raise SsdgymError(f"policy {name} is registered already by {_home(known)}; choose another name.")
    if name in _ALIASES and not _names_own_placement(_ALIASES[name], rule):
        raise SsdgymError(f"policy {name} stands for {_ALIASES[name].composition}; choose another name.")
    if rule.function is not None and not rule.compiled:
        arguments = ABOUT[rule.kind].arguments
        if len(inspect.signature(rule.function).parameters) != len(arguments):
            raise SsdgymError(
                f"policy {name} must take the {len(arguments)} arguments ({', '.join(arguments)})."
            )
    _RULES[name] = rule


def _names_own_placement(alias: Alias, rule: Rule | None = None) -> bool:
    """Return whether an alias has the name of a placement (`rule` or a registered one) in its composition."""
    written = dict(parse_policy(alias.composition))
    return alias.name in written and (rule or _RULES[alias.name]).kind == "placement"


def _home(rule: Rule) -> str:
    """Return the module of a rule; only this module may register a rule of the same name again."""
    return rule.function.__module__ if rule.function is not None else "the engine"


def _load_own() -> None:
    """Import the rules of ssdgym, so that other packages cannot register rules under their names."""
    for module in ("ssdgym.baselines", "ssdgym.policy.page_history", "ssdgym.policy.page_credit"):
        importlib.import_module(module)


def load_plugins() -> None:
    """Register the rules of ssdgym and of installed packages by importing their modules."""
    _load_own()
    for plugin in plugins_of("ssdgym.policies"):
        plugin.load()


def registered(name: str, *, alone: bool = False) -> Rule | Alias | None:
    """Return the rule or alias with a name, also of installed packages; `None` if there is none.

    Args:
        name: name of the rule or alias, `agent:NAME` for an agent, or `module:rule`. The module must be
            imported already, because a look-up executes no code of users.
        alone: whether the name is the whole text of a policy. If an alias and a placement share the name,
            the alias is returned if `alone`, otherwise the placement.

    Raises:
        SsdgymError: the agent cannot be a rule, the module is not imported, or it has no such rule.
    """
    kind, colon, rest = name.partition(":")
    if colon and kind in FOUND_BY:
        found: Rule = importlib.import_module(FOUND_BY[kind]).rule_named(name)
        return found
    if colon:
        if kind not in sys.modules:
            raise SsdgymError(f"policy {name}: the module {kind} is not imported; give --import {kind}.")
        rule = _RULES.get(rest)
        if rule is None or not f"{_home(rule)}.".startswith(f"{kind}."):
            raise SsdgymError(f"policy {name}: {kind} has no rule of the name {rest}; correct it.")
        return rule
    if name not in _RULES and name not in _ALIASES:
        load_plugins()
    rule, alias = _RULES.get(name), _ALIASES.get(name)
    return alias if alone and alias else rule or alias


def registered_rules(*kinds: Kind) -> list[str]:
    """Return the names of all rules of these kinds, sorted."""
    load_plugins()
    return sorted(name for name, rule in _RULES.items() if rule.kind in kinds)


def registered_policies() -> list[str]:
    """Return the names of all victim rules, merge rules and aliases, sorted."""
    return sorted({*registered_rules("victim", "merge"), *_ALIASES})


def rule_of_kind(kind: Kind | tuple[Kind, ...], text: str, where: str) -> Rule:
    """Return the rule of a kind that a text names, such as `sep_gc` or `threshold(blocks=4)`.

    Args:
        kind: the kind that the rule must have, or a tuple of allowed kinds.
        text: name of the rule and, in parentheses, values of its parameters.
        where: first words of errors.

    Raises:
        SsdgymError: there is no such rule or parameter.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    (name, parameters), *others = parse_policy(text)
    rule = None if others else registered(name)
    if not isinstance(rule, Rule) or rule.kind not in kinds:
        raise SsdgymError(f"{where} {text} does not exist; {hint(text, registered_rules(*kinds))}")
    return rule.with_parameters(parameters)
