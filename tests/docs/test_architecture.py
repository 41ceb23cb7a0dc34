"""The map of the architecture is that of the tree."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

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


class Call(NamedTuple):
    """A line of a way: a function, of a class or not, its file, and how far to the right it stands."""

    depth: int
    name: str
    file: Path

    def code(self) -> ast.AST:
        """The function as it stands in its file; of an attribute that is one, its class."""
        scope: Any = ast.parse(self.file.read_text(encoding="utf-8"))
        for name in self.name.split("."):
            inner = [node for node in scope.body if getattr(node, "name", None) == name]
            assert inner or isinstance(scope, ast.ClassDef), f"{self.file} has no {self.name}"
            scope = inner[0] if inner else scope
        return scope  # type: ignore[no-any-return]

    def names(self) -> set[str]:
        """All names in the function and in what it names of its file, directly or not."""
        of_file: dict[str, ast.AST] = {}
        for node in ast.walk(ast.parse(self.file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                of_file[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                of_file[node.targets[0].id] = node
        found: set[str] = set()
        todo = [self.code()]
        while todo:
            new = {
                name
                for node in ast.walk(todo.pop())
                if (name := getattr(node, "id", None) or getattr(node, "attr", None)) and name not in found
            }
            found |= new
            todo += [of_file[name] for name in new if name in of_file]
        return found


def ways_of(title: str) -> list[list[Call]]:
    """Return the ways that a section draws."""
    ways = []
    for drawing in re.findall(r"```text\n(.*?)```", section(title), re.DOTALL):
        parts = [re.fullmatch(r"( *)([\w.]+) +([\w/]+).*", line) for line in drawing.splitlines()]
        assert all(parts), drawing
        ways.append(
            [Call(len(part[1]), part[2], ROOT / "ssdgym" / f"{part[3]}.py") for part in parts if part]
        )
    return ways


@pytest.mark.parametrize(
    ("title", "drawn", "most"),
    [("How a write travels", 2, 12), ("How a GC round travels", 1, 13), ("How an action travels", 1, 8)],
)
def test_way__each_function_calls_the_next__in_few_files(title: str, drawn: int, most: int) -> None:
    ways = ways_of(title)
    assert len(ways) == drawn
    for way in ways:
        assert len(way) > 7 and len({call.file for call in way}) <= most
        for number, call in enumerate(way):
            call.code()
            previous = way[number - 1]
            if number > 0 and previous.name.startswith("family_") and previous.depth == call.depth:
                versions = (ENGINE / "page" / "family.py").read_text(encoding="utf-8")
                assert f"operations.{previous.name}: {call.name}," in versions, call
                continue
            callers = [one for one in way[:number] if one.depth < call.depth]
            if callers:
                names = callers[-1].names()
                assert call.name.rpartition(".")[2] in names, f"{callers[-1].name} does not call {call.name}"


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
