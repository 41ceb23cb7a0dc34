"""Rules of one's own by the module that has them: `module:rule`, for other processes and the command line."""

from __future__ import annotations

import importlib
import re
import sys

from ssdgym.errors import SsdgymError
from ssdgym.own_code import find_module
from ssdgym.policy.names import FORM

#: Where rules are found that are not registered, by what stands before the colon in their names.
FOUND_BY = {"agent": "ssdgym.agents.compiled"}
_IN_MODULE = re.compile(r"([A-Za-z_][\w.]*):")


def modules_of(policy: str) -> list[str]:
    """Return the modules that a policy names: `my_rules` for `my_rules:half+sep_gc`; of other texts none."""
    named = _IN_MODULE.findall(policy) if FORM.fullmatch(policy) else []
    return [module for module in named if module not in FOUND_BY]


def import_rules(policy: str, *, trust: bool) -> None:
    """Import the modules that a policy names, as Python would or from the present folder.

    Args:
        policy: as it is written.
        trust: whether their code may be executed.

    Raises:
        SsdgymError: it may not, or there is no such module.
    """
    for module in modules_of(policy):
        if module not in sys.modules and not trust:
            raise SsdgymError(
                f"policy {policy}: loading it executes code of the module it names; if you trust it, give "
                "--trust (in Python: trust=True)."
            )
        find_module(module, f"policy {policy}")
        importlib.import_module(module)
