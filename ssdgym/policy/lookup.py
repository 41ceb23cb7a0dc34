"""Look policies up by what they are written as, and prepare devices for them."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig, load_device, load_fields, with_ftl
from ssdgym.config.ftl import FtlConfig, ftl_model
from ssdgym.config.loading import Source
from ssdgym.engine.decisions import PLACE, no_rules
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy.names import DEFAULT, WrittenPart, has_near, hint, label_of, parse_policy
from ssdgym.policy.policy import BESIDE, Policy, idle_of, wear_rules_on, with_rules
from ssdgym.policy.registry import (
    Alias,
    registered,
    registered_alias,
    registered_policies,
    registered_rules,
    rule_of_kind,
    rules_on,
)
from ssdgym.policy.rules import MergeRule, PlacementRule, Rule, RuleT, VictimRule

#: The kinds of rules that policies are named by.
_MAIN = (VictimRule, MergeRule)


def available_policies() -> dict[str, Policy]:
    """Return all registered policies of victims by name: rules, and compositions with a name of their own."""
    policies = {name: get_policy(name) for name in registered_policies()}
    return {name: policy for name, policy in policies.items() if isinstance(policy.main, VictimRule)}


def available_rules(kind: type[RuleT]) -> dict[str, RuleT]:
    """Return all registered rules of a kind, such as `PlacementRule`, by name."""
    return {name: rule_of_kind(kind, name, "rule") for name in registered_rules(kind)}


def get_policy(spec: str | Policy, *, checked: bool = False) -> Policy:
    """Return a policy by what it is written as: `greedy`, `d_choices(d=5)`, `greedy+sep_gc`, `speedupgc`.

    The parts may stand in any order: each has the kind under which it is registered.

    Args:
        spec: the text, or a ready policy.
        checked: compile its rules with checks, also those of ssdgym and those that are trusted.

    Raises:
        SsdgymError: there is no such policy, placement or parameter, or a kind of rule is given twice.
    """
    if checked:
        return get_policy(spec).with_checks()
    if isinstance(spec, Policy):
        return spec
    if not isinstance(spec, str):
        raise SsdgymError(f"policy {shown(spec)} is neither a name nor a Policy.")
    main, beside = _by_kind(spec)
    rule = registered(main.name)
    if isinstance(rule, PlacementRule):
        rule = registered_alias(main.name)
    policy = Policy(rule) if isinstance(rule, _MAIN) else _composed(rule)
    policy = policy.with_parameters(main.parameters)
    for part, written in beside.items():
        policy = policy.with_rule(part, label_of(*written))
    return policy


def _by_kind(text: str) -> tuple[WrittenPart, dict[str, WrittenPart]]:
    """Return the parts of a policy: its main rule or alias, and by attribute the rules beside it."""
    parts = parse_policy(text)
    rules = [registered(part.name) for part in parts]
    if len(parts) == 1:
        rules = [registered_alias(parts[0].name) or rules[0]]
    unknown = [part.name for part, rule in zip(parts, rules, strict=True) if rule is None]
    beside = {
        name: [part for part, rule in zip(parts, rules, strict=True) if isinstance(rule, kind)]
        for name, kind in BESIDE.items()
    }
    mains = [part for part, rule in zip(parts, rules, strict=True) if isinstance(rule, (*_MAIN, Alias))]
    merge = next((rule for rule in rules if isinstance(rule, MergeRule)), None)
    if unknown and not mains:
        raise SsdgymError(f"policy {unknown[0]} does not exist; {hint(unknown[0], registered_policies())}")
    if unknown:
        near = [kind for kind in BESIDE.values() if has_near(unknown[0], registered_rules(kind))]
        kind: type[Rule] = [*near, PlacementRule][0]
        known = registered_rules(kind)
        raise SsdgymError(
            f"policy {text!r}: {kind.called} {unknown[0]} does not exist; {hint(unknown[0], known)}"
        )
    if merge is not None and len(parts) > 1:
        raise SsdgymError(
            f"policy {text!r}: {merge.name} chooses {merge.chooses} and stands alone; write it so."
        )
    for called, given in (*((BESIDE[name].called, beside[name]) for name in BESIDE), ("victim rule", mains)):
        if len(given) > 1:
            raise SsdgymError(f"policy {text!r} names {len(given)} {called}s; give one.")
    if not mains:
        raise SsdgymError(f"policy {text!r} names no victim rule; add one, as in greedy+{text.strip()}.")
    return mains[0], {name: given[0] for name, given in beside.items() if given}


def _composed(alias: Any) -> Policy:
    """Return the policy that an alias stands for."""
    rules = {part.name: registered(part.name) for part in parse_policy(alias.composition)}
    if not any(isinstance(rule, _MAIN) for rule in rules.values()):
        missing = next(name for name, rule in rules.items() if not isinstance(rule, tuple(BESIDE.values())))
        raise SsdgymError(
            f"policy {alias.name} stands for {alias.composition}, and there is no victim rule {missing}; "
            f"{hint(missing, registered_rules(VictimRule))}"
        )
    return replace(get_policy(alias.composition), alias=alias)


def usual_policy(device: Source | DeviceConfig, ftl: FtlConfig | dict[str, Any] | None = None) -> str:
    """Return the policy of a device where none is named."""
    if isinstance(ftl, FtlConfig):
        return ftl.usual_policy
    model = ftl_model(ftl.get("mapping")) if isinstance(ftl, dict) else None
    return (model or load_fields(device).ftl).usual_policy


def policy_for(
    policy: str | Policy | None, device: Source | DeviceConfig, ftl: FtlConfig | dict[str, Any] | None = None
) -> Policy | None:
    """Return the policy that a device is to be run with, by what it is written as.

    Args:
        policy: `"default"` for that of the device; `None` for decisions that are taken outside.
        device: by name, path, mapping or model.
        ftl: another FTL, or a mapping of the fields to change.

    Raises:
        SsdgymError: there is no such policy, or no such device.
    """
    if policy is None:
        return None
    is_usual = isinstance(policy, str) and policy == DEFAULT
    return get_policy(usual_policy(device, ftl) if is_usual else policy)


def device_for(
    device: Source | DeviceConfig,
    ftl: FtlConfig | dict[str, Any] | None = None,
    policy: str | Policy | None = None,
) -> DeviceConfig:
    """Return the device as a policy runs it, with another FTL or some of its fields changed before.

    Args:
        device: by name, path, mapping or model.
        ftl: another FTL, or a mapping of the fields to change.
        policy: by what it is written as, as for `policy_for`; `None` for decisions that are taken outside.

    Raises:
        SsdgymError: they do not fit each other, or `ftl` and the policy name different placements.
    """
    # Fields that fit only with the changes are checked with these; without any, where they are written.
    model = load_device(device) if ftl is None else load_fields(device)
    chosen = policy_for(policy, model, ftl)
    if chosen and isinstance(ftl, dict) and isinstance(ftl.get("placement"), str):
        # Applied with the policy's erase unit, without which the device may not be able to have it.
        placement = rule_of_kind(PlacementRule, ftl["placement"], f"device {model.name}: ftl.placement")
        if placement != chosen.placement:
            chosen = chosen.with_rule("placement", placement)
        ftl = {key: value for key, value in ftl.items() if key != "placement"}
    model = with_ftl(model, ftl)
    return chosen.adapt(model) if chosen else with_rules(model)


def rules_for(device: DeviceConfig, policy: Policy | None) -> np.ndarray:
    """Return who takes which decisions inside the engine, (kinds + trackers,) RULE; compiles at first use."""
    rules, beside, idle = no_rules(), rules_on(device), idle_of(device)
    others = [*([] if idle is None else [idle]), *wear_rules_on(device)]
    if policy is not None and policy.main.always_checked:
        beside = [replace(rule, always_checked=True) for rule in beside]
        others = [replace(rule, always_checked=True) for rule in others]
    if beside and beside[0].function is not None:
        rules[PLACE] = beside[0].record
    for rule in others:
        rules[rule.kind] = rule.record
    if policy is not None and policy.main.compiled:
        rules[policy.main.kind] = _with_memory(policy.main, beside).record
    trackers = [rule.record for rule in beside[1:]]
    return np.concatenate([rules, np.array(trackers, rules.dtype)]) if trackers else rules


def _with_memory(main: Rule, beside: Sequence[Rule]) -> Rule:
    """Return a rule with the memory of the placement, the first of some rules, if it shares that."""
    if isinstance(main, VictimRule) and beside and beside[0].name in main.shares_memory_with:
        return replace(main, memory=beside[0].memory, hooks={})
    return main


def _pickled(policy: Policy) -> tuple[Any, ...]:
    return partial(get_policy, checked=policy.main.always_checked), (policy.label,)


copyreg.pickle(Policy, _pickled)
