"""Hooks of the site's builder."""

from __future__ import annotations

import importlib
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.plugins import event_priority

from ssdgym.policy import (
    PlacementRule,
    Policy,
    VictimRule,
    available_idle_rules,
    available_merge_rules,
    available_placements,
    available_policies,
)
from ssdgym.policy.rules import Rule

ROOT = Path(__file__).parents[1]
#: Where the page of policies shows what is registered.
COMPOSITIONS, VICTIM_RULES, PLACEMENTS, IDLE_RULES, MERGE_RULES = (
    f"<!-- {name} -->" for name in ("compositions", "victim rules", "placements", "idle rules", "merge rules")
)
_SOURCES = TemporaryDirectory(prefix="ssdgym-docs-")


@event_priority(100)  # before mkdocstrings reads its paths
def on_config(config: Any) -> Any:
    """Copy the sources as they are installed: `agents` and `baselines` inside `ssdgym`."""
    package = Path(_SOURCES.name) / "ssdgym"
    shutil.copytree(ROOT / "ssdgym", package, dirs_exist_ok=True)
    for folder in ("agents", "baselines"):
        shutil.copytree(ROOT / folder, package / folder, dirs_exist_ok=True)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_SOURCES.name]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the registered policies, placements, idle rules and merge rules."""
    policies = available_policies().values()
    rules = [policy.victim for policy in policies if not policy.alias]
    markdown = markdown.replace(COMPOSITIONS, _table([policy for policy in policies if policy.alias]))
    markdown = markdown.replace(VICTIM_RULES, "\n".join(map(_section, rules)))
    markdown = markdown.replace(PLACEMENTS, "\n".join(map(_section, available_placements().values())))
    markdown = markdown.replace(MERGE_RULES, "\n".join(map(_section, available_merge_rules().values())))
    return markdown.replace(IDLE_RULES, "\n".join(map(_section, available_idle_rules().values())))


def _table(policies: list[Policy]) -> str:
    """Return the compositions, one a row."""
    rows = ["| name | rules | erases | planes together | source |", "|---|---|---|---|---|"]
    for policy in policies:
        erases, planes = policy.erase_unit or "block", policy.multi_plane or "as the device"
        rows.append(f"| `{policy.name}` | `{policy.alias_of}` | {erases} | {planes} | {policy.source} |")
    return "\n".join(rows)


def _section(rule: Rule) -> str:
    """Return what a rule does, its parameters and where it is from."""
    return "\n".join([f"### `{rule.name}`", "", _docstring(rule), "", *_facts(rule)])


def _docstring(rule: Rule) -> str:
    """Return the definition of a rule; that of one that the engine has code for is its file's docstring."""
    if rule.function is not None:
        return inspect.getdoc(rule.function) or ""
    return importlib.import_module(f"ssdgym.baselines.placements.{rule.name}").__doc__ or ""


def _facts(rule: Rule) -> Iterator[str]:
    defaults = ", ".join(f"`{name}={value:g}`" for name, value in rule.parameters.items())
    if defaults:
        yield f"* Parameters: {defaults}"
    if isinstance(rule, VictimRule) and rule.erase_unit:
        yield f"* Erases: `erase_unit: {rule.erase_unit}`"
    if isinstance(rule, PlacementRule):
        yield f"* Streams: {rule.streams}"
    yield f"* Source: {rule.source}"
    yield ""
