"""The tables that the site's builder makes of what is registered: complete, and each on some page."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import get_args

import pytest

from ssdgym.config.block import BlockFtl
from ssdgym.config.device import PRECONDITIONING, PreconditioningKind
from ssdgym.config.page import PageFtl
from ssdgym.config.subpage import SubpageFtl
from ssdgym.envs.features import registered_features
from ssdgym.envs.rewards.terms import TERMS
from ssdgym.experiments.leaderboard.text import _COLUMNS, MEANINGS
from ssdgym.experiments.papers import claims as base
from ssdgym.experiments.sweeps import config
from ssdgym.workloads.registry import workload_models
from ssdgym.workloads.traces.registry import format_names
from tests.docs.pages import PAGES, ROOT

pytest.importorskip("mkdocs")


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return import_module("hooks")


def first_cells(table: str) -> set[str]:
    """Return the words in code of the first column."""
    return {word for line in table.splitlines() for word in re.findall(r"`([^`]*)`", line.split("|")[1])}


def test_markers__stand_each_on_a_page_and_are_all_filled_in(hooks: ModuleType) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"<!-- {name} -->" in text for name in hooks.MARKERS)
    assert not re.search(
        r"<!-- \w+( \w+)? -->", hooks.on_page_markdown("\n".join(map(marker, hooks.MARKERS)))
    )


def marker(name: str) -> str:
    return f"<!-- {name} -->"


def test_features_and_terms__are_those_registered(hooks: ModuleType) -> None:
    described = first_cells(hooks.on_page_markdown(marker("features")))
    assert described == {one.feature.name for one in registered_features()}
    assert first_cells(hooks.on_page_markdown(marker("reward terms"))) == set(TERMS)


def test_feature_kinds__are_those_of_features(hooks: ModuleType) -> None:
    named = first_cells(hooks.on_page_markdown(marker("feature kinds")))
    assert named == {one.kind for one in registered_features()}


def test_meanings__every_verdict_has_one_and_every_column_of_standings(hooks: ModuleType) -> None:
    assert set(base.VERDICTS) == set(get_args(base.Verdict))
    assert list(PRECONDITIONING) == list(get_args(PreconditioningKind))
    headings = [heading.removesuffix(" [95 %]") for heading, _ in _COLUMNS]
    assert list(MEANINGS) == headings[2:]  # policy and rank say it themselves
    assert "| direction holds | the interval" in hooks.on_page_markdown(marker("verdicts"))


def test_trace_formats__are_those_registered_each_with_a_meaning(hooks: ModuleType) -> None:
    table = hooks.on_page_markdown(marker("trace formats"))
    assert first_cells(table) == set(format_names()) - {"auto"}
    assert all(line.split("|")[2].strip() for line in table.splitlines())
    assert "time:100ns host disk op:Read=read,Write=write offset:B size:B response" in table


def test_sweep_fields__are_those_of_all_models(hooks: ModuleType) -> None:
    table = hooks.on_page_markdown(marker("sweep fields"))
    names = {name for cell in first_cells(table) for name in re.findall(r"\w+", cell)}
    models = [config.SweepConfig, config.HeldOutConfig, config.SpaceConfig]
    models += [config.AgentTrialConfig, config.PolicyTrialConfig, config.AshaConfig, config.OptunaConfig]
    assert {name for model in models for name in model.model_fields} <= names
    assert {model.model_fields["kind"].annotation.__args__[0] for model in models[3:]} <= names


def test_fields_of_devices__are_those_of_the_models(hooks: ModuleType) -> None:
    for name, model in {"page": PageFtl, "subpage": SubpageFtl, "block": BlockFtl}.items():
        found = first_cells(hooks.on_page_markdown(marker(f"{name} fields")))
        assert set(model.model_fields) - {"rules"} <= found and "gc.copyback" in found


def test_commands__each_with_its_options_and_examples(hooks: ModuleType) -> None:
    text = hooks.on_page_markdown(marker("commands"))
    sections = dict(re.findall(r"^### (ssdgym [\w ]+)\n(.*?)(?=^### |\Z)", text, re.DOTALL | re.MULTILINE))
    assert {"ssdgym run", "ssdgym evaluate", "ssdgym trace info", "ssdgym zoo list"} <= set(sections)
    assert "`--policy`, `-p`" in sections["ssdgym run"] and "ssdgym run --" in sections["ssdgym run"]


def test_counters__are_those_that_are_metrics(hooks: ModuleType) -> None:
    assert "relocated_pages" in first_cells(hooks.on_page_markdown(marker("counters")))


def test_kinds_of_workload__each_has_a_table(hooks: ModuleType) -> None:
    text = hooks.on_page_markdown(marker("workload fields"))
    assert set(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == set(workload_models())
