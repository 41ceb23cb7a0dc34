"""Look up policies by their text, and prepare devices for them."""

from __future__ import annotations

import copyreg
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig, load_device, load_fields, with_ftl
from ssdgym.config.ftl import FtlConfig, ftl_model
from ssdgym.config.loading import Source
from ssdgym.engine.decisions import PLACE, no_rules
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy.names import DEFAULT, hint, parse_policy
from ssdgym.policy.on_device import BESIDE, rules_on, with_rules
from ssdgym.policy.policy import Policy
from ssdgym.policy.registry import Alias, registered, registered_policies, registered_rules, rule_of_kind
from ssdgym.policy.rules import ABOUT, Kind, Rule


def available_policies() -> dict[str, Policy]:
    """Return all registered victim rules and named compositions as policies, by name."""
    policies = {name: get_policy(name) for name in registered_policies()}
    return {name: policy for name, policy in policies.items() if policy.main.kind == "victim"}


def available_rules(kind: Kind) -> dict[str, Rule]:
    """Return all registered rules of a kind, such as `placement`, by name."""
    return {name: rule_of_kind(kind, name, "rule") for name in registered_rules(kind)}


def get_policy(spec: str | Policy) -> Policy:
    """Return the policy that a text names: `greedy`, `d_choices(d=5)`, `greedy+sep_gc`, `speedupgc`.

    The names may stand in any order, because each rule is registered under its kind.

    Args:
        spec: the text, or a policy, which is returned unchanged.

    Raises:
        SsdgymError: a rule or parameter does not exist, a value is wrong, or two rules are of one kind.
    """
    if isinstance(spec, Policy):
        return spec
    if not isinstance(spec, str):
        raise SsdgymError(f"policy {shown(spec)} is neither a name nor a Policy.")
    return _joined(spec)


def _joined(text: str, alias: Alias | None = None) -> Policy:
    """Return the policy of the rules that a text names; if `alias` is given, `text` is its composition."""
    parts = parse_policy(text)
    where = f"policy {alias.name} ({text})" if alias else f"policy {text!r}"
    found: dict[str, tuple[Any, dict[str, float]]] = {}
    for name, parameters in parts:
        rule: Any = registered(name, alone=len(parts) == 1)
        if rule is None:
            one = len(parts) == 1 and not alias
            what = f"policy {name}" if one else f"{where}: rule {name}"
            module = name.removesuffix(".py")
            if Path(f"{module}.py").is_file():
                raise SsdgymError(f"{what} is a module; name one of its rules, {module}:RULE.")
            known = registered_policies() if one else registered_rules("victim", *BESIDE)
            raise SsdgymError(f"{what} does not exist; {hint(name, known)}")
        kind = "policy" if isinstance(rule, Alias) else ABOUT[rule.kind].called
        if kind == "tracker":
            raise SsdgymError(f"{where}: {name} is a tracker; name it in ftl.trackers of the device.")
        if kind == "policy" and alias:
            raise SsdgymError(f"{where}: {name} stands for {rule.composition}; name that instead.")
        role = rule.kind if isinstance(rule, Rule) and rule.kind in BESIDE else "main"
        if role in found:
            other = found[role][0].name
            raise SsdgymError(f"{where} names the {kind} {name} beside {other}; leave one of them out.")
        found[role] = rule, parameters
    if "main" not in found:
        raise SsdgymError(f"{where} names no victim rule; add one, as in greedy+{text.strip()}.")
    main, parameters = found.pop("main")
    policy = _joined(main.composition, main) if isinstance(main, Alias) else Policy(main)
    policy = policy.with_parameters(parameters)
    for rule, parameters in found.values():
        policy = policy.with_rule(rule.with_parameters(parameters))
    return replace(policy, alias=alias, main=replace(policy.main, **alias.changes)) if alias else policy


def policy_for(
    policy: str | Policy | None, device: Source | DeviceConfig, ftl: FtlConfig | dict[str, Any] | None = None
) -> Policy | None:
    """Return the policy that a text names for a run on a device; `None` if `policy` is `None`.

    Args:
        policy: the text, where `"default"` is the default policy of the device's FTL; `None` if the caller
            takes the decisions.
        device: name, path, mapping or model of the device.
        ftl: an FTL that replaces the device's, or a mapping of the fields to change; `None`: no change.

    Raises:
        SsdgymError: there is no such policy, or no such device.
    """
    if policy is None:
        return None
    if isinstance(policy, str) and policy == DEFAULT:
        model = ftl_model(ftl.get("mapping")) if isinstance(ftl, dict) else None
        known = ftl if isinstance(ftl, FtlConfig) else model or load_fields(device).ftl
        policy = known.usual_policy
    return get_policy(policy)


def device_for(
    device: Source | DeviceConfig,
    ftl: FtlConfig | dict[str, Any] | None = None,
    policy: str | Policy | None = None,
) -> DeviceConfig:
    """Return the device with the changes of `ftl` and with the rules and erase unit that a policy needs.

    Args:
        device: name, path, mapping or model of the device.
        ftl: an FTL that replaces the device's, or a mapping of the fields to change; `None`: no change.
        policy: text of a policy, as for `policy_for`; `None` if the caller takes the decisions.

    Raises:
        SsdgymError: device, FTL and policy do not fit each other, or `ftl` and policy name different
            placements.
    """
    # If `ftl` changes fields, they are checked together only after the changes.
    model = load_device(device) if ftl is None else load_fields(device)
    chosen = policy_for(policy, model, ftl)
    if chosen and isinstance(ftl, dict) and isinstance(ftl.get("placement"), str):
        # A placement may need the policy's erase unit, so `adapt` sets both in one step.
        placement = rule_of_kind("placement", ftl["placement"], f"device {model.name}: ftl.placement")
        if placement != chosen.beside.get("placement"):
            chosen = chosen.with_rule(placement)
        ftl = {key: value for key, value in ftl.items() if key != "placement"}
    model = with_ftl(model, ftl)
    return chosen.adapt(model) if chosen else with_rules(model)


def rules_for(device: DeviceConfig, policy: Policy | None) -> np.ndarray:
    """Return the compiled rule of each kind of decision, then the trackers, (kinds + trackers,) RULE."""
    rules, placing = no_rules(), rules_on(device)
    if placing and placing[0].function is not None:
        rules[PLACE] = placing[0].record
    for rule in (*rules_on(device, "idle"), *rules_on(device, "wear")):
        rules[rule.decision] = rule.record
    if policy is not None and policy.main.compiled:
        main = policy.main
        if placing and placing[0].name in main.shares_memory_with:
            main = replace(main, memory=placing[0].memory, hooks={})
        rules[main.decision] = main.record
    trackers = [rule.record for rule in placing[1:]]
    return np.concatenate([rules, np.array(trackers, rules.dtype)]) if trackers else rules


copyreg.pickle(Policy, lambda policy: (get_policy, (policy.label,)))
