"""Find and import users' code: modules in texts such as `module:callable`, and entry points of packages."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from ssdgym.errors import SsdgymError


def find_module(module: str, where: str) -> ModuleSpec:
    """Return the spec of a module without importing the module.

    The working folder is put first into `sys.path`, so the module may be there.

    Args:
        module: dotted name of the module.
        where: first part of error messages.

    Raises:
        SsdgymError: there is no such module.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # ValueError comes from a module without a file, such as __main__
        spec = None
    if spec is None:
        raise SsdgymError(f"{where}: there is no module {module}; correct its name, or run where it lies.")
    return spec


def import_own(module: str, where: str) -> ModuleType:
    """Import a module, which may be in the working folder, and return it.

    Args:
        module: dotted name of the module.
        where: first part of error messages.

    Raises:
        SsdgymError: the module does not exist, or raises an error while it is imported.
    """
    find_module(module, where)
    try:
        return importlib.import_module(module)
    except SsdgymError:
        raise
    except Exception as error:
        raise SsdgymError(
            f"{where}: the module {module} raises {type(error).__name__} ({error}); correct it."
        ) from error


#: Environment variable: names of modules, separated by commas, that worker processes import at their start.
IMPORTED = "SSDGYM_IMPORT"


def named_modules() -> list[str]:
    """Return the modules in `SSDGYM_IMPORT`."""
    return list(filter(None, os.environ.get(IMPORTED, "").split(",")))


def import_modules(names: Iterable[str] = ()) -> None:
    """Import the modules in `SSDGYM_IMPORT` and in `names`, and add `names` to `SSDGYM_IMPORT`.

    Raises:
        SsdgymError: a module does not exist, or raises an error while it is imported.
    """
    modules = list(dict.fromkeys([*named_modules(), *names]))
    for name in modules:
        import_own(name, f"--import {name}")
    os.environ |= {IMPORTED: ",".join(modules)} if modules else {}


def plugins_of(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; installed packages are searched only once."""
    return tuple(_plugins(tuple(sys.path)).select(group=group))


@cache
def _plugins(path: tuple[str, ...]) -> Any:
    return entry_points()
