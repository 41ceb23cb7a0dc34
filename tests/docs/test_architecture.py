"""The map of the architecture is that of the tree."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ssdgym.engine import entries
from tests.docs.pages import ROOT
from tests.test_layers import LAYERS

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ENGINE = ROOT / "ssdgym" / "engine"


def section(title: str) -> str:
    """Return a section of the page."""
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_contract__names_entries() -> None:
    for name in re.findall(r"^\| `(\w+)` \|", section("The contract"), re.MULTILINE):
        assert hasattr(entries, name), name


def test_stations__are_modules() -> None:
    for name in re.findall(r"`(\w+/\w+)(?:\.py)?`", section("How a write travels")):
        assert (ENGINE / f"{name}.py").exists(), name


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "examples"), *sys.path])
    return import_module("house")


def floor_of(name: str, floors: Sequence[Sequence[tuple[str, str]]]) -> int:
    """Return the number of the floor with a room, from the top; -1 where it is not drawn."""
    return next((n for n, rooms in enumerate(floors) if name in dict(rooms)), -1)


def test_picture__layers_stand_as_the_test_of_layers_has_them(house: ModuleType) -> None:
    floors = [
        {f"ssdgym.{name}" for name, _ in rooms} for rooms in (*house.ABOVE, {("engine", "")}, *house.BELOW)
    ]
    layers = [set(layer) for layer in reversed(LAYERS)]
    assert len(floors) == len(layers) and all(
        floor <= layer for floor, layer in zip(floors, layers, strict=True)
    )


def test_picture__rooms_of_the_engine_import_from_their_storey_and_below(house: ModuleType) -> None:
    for path in ENGINE.rglob("*.py"):
        own = floor_of(path.relative_to(ENGINE).with_suffix("").parts[0], house.ENGINE)
        for room in re.findall(r"^from ssdgym\.engine\.(\w+)", path.read_text(encoding="utf-8"), re.M):
            below = floor_of(room, house.ENGINE)
            assert min(own, below) < 0 or own <= below, f"{path}: {room} is drawn above it"


def test_picture__is_drawn(house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["house.py", "--out", str(tmp_path / "house.svg")])
    house.main()
    assert (tmp_path / "house.svg").stat().st_size > 10_000
