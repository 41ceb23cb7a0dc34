"""The tables that the site's builder makes of what is registered: complete, and each on some page."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from types import ModuleType

import pytest

from ssdgym.envs.features import registered_features
from ssdgym.envs.rewards.terms import TERMS
from ssdgym.experiments.sweeps import config
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


def test_sweep_fields__are_those_of_all_models(hooks: ModuleType) -> None:
    table = hooks.on_page_markdown(marker("sweep fields"))
    names = {name for cell in first_cells(table) for name in re.findall(r"\w+", cell)}
    models = [config.SweepConfig, config.HeldOutConfig, config.SpaceConfig]
    models += [config.AgentBaseConfig, config.PolicyBaseConfig, config.AshaConfig, config.PbtConfig]
    models += [config.OptunaConfig]
    assert {name for model in models for name in model.model_fields} <= names
    assert {model.model_fields["kind"].annotation.__args__[0] for model in models[3:]} <= names
