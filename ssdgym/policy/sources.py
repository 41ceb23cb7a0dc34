"""The files that rules are written in, with those of their package that they import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any


def files_of(functions: Iterable[Callable[..., Any]]) -> list[Path]:
    """Return the files of functions and of what they import from their own package, sorted.

    The package of a rule of ssdgym is `ssdgym.baselines`: what all rules import is not a part of one.

    Args:
        functions: plain ones, or compiled; those typed at a prompt have no file that exists.
    """
    files: set[Path] = set()
    todo: list[str] = []
    for function in functions:
        plain = getattr(function, "py_func", function)
        files.add(Path(plain.__code__.co_filename))
        todo.append(plain.__module__)
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if name in seen or file is None:
            continue
        seen.add(name)
        files.add(Path(file))
        package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
        if Path(file).suffix == ".py":
            todo += [found for found in _imported(Path(file).read_bytes(), package) if _is_near(found, name)]
    return sorted(files)


def _is_near(other: str, name: str) -> bool:
    """Return whether a module is of the package of another one, and a module at all."""
    depth = 2 if name.partition(".")[0] == __name__.partition(".")[0] else 1
    return other in sys.modules and other.split(".")[:depth] == name.split(".")[:depth]


@cache
def _imported(source: bytes, package: str) -> tuple[str, ...]:
    """Return the names that a source imports, in full: of modules, and of what is in them."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = (
                resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            )
            names += [str(module), *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(names)
