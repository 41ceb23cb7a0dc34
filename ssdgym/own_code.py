"""Modules of one's own, which are named in texts such as `module:callable`."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec

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
