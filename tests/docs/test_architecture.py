"""The map of the architecture is that of the tree."""

from __future__ import annotations

import re

from ssdgym.engine import entries
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ENGINE = ROOT / "ssdgym" / "engine"


def section(title: str) -> str:
    """Return a section of the page."""
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_rooms__are_those_of_the_engine() -> None:
    named = set(re.findall(r"^\| `(\w+)(?:/|\.py)` \|", section("Rooms of the engine"), re.MULTILINE))
    rooms = {path.name for path in ENGINE.iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in ENGINE.glob("*.py")} - {"__init__"}
    assert named == rooms | files


def test_contract__names_entries() -> None:
    for name in re.findall(r"^\| `(\w+)` \|", section("The contract"), re.MULTILINE):
        assert hasattr(entries, name), name


def test_stations__are_modules() -> None:
    for name in re.findall(r"`(\w+/\w+)(?:\.py)?`", section("How a write travels")):
        assert (ENGINE / f"{name}.py").exists(), name


def test_layers__are_packages_and_modules() -> None:
    for name in re.findall(r"`ssdgym\.(\w+)`", section("Layers").partition("`agents/`")[0]):
        folders = (ROOT / "ssdgym" / name, ROOT / name, ROOT / "ssdgym" / f"{name}.py")
        assert any(folder.exists() for folder in folders), name
