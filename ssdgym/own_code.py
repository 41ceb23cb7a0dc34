"""Code of others: modules that are named in texts such as `module:callable`, and entry points of packages."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ssdgym.errors import SsdgymError


def find_module(module: str, where: str) -> ModuleSpec:
    """Return where a module lies, and let it be imported from the present folder; nothing is executed.

    Args:
        module: dotted name.
        where: begins the sentence of the error.

    Raises:
        SsdgymError: there is no such module.
    """
    # As `python` without a script does.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # ValueError: a module without a file, as __main__
        spec = None
    if spec is None:
        raise SsdgymError(f"{where}: there is no module {module}; correct its name, or run where it lies.")
    return spec


def plugins_of(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; packages are looked through once."""
    return tuple(_plugins(tuple(sys.path)).select(group=group))


@cache
def _plugins(path: tuple[str, ...]) -> Any:
    return entry_points()
