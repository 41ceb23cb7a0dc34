"""Read and write names of rules, find their source files, and import rules of users."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from ssdgym.errors import SsdgymError
from ssdgym.own_code import import_own

#: The name of a rule, optionally after a prefix and a colon, as in `agent:NAME` and `module:rule`.
_NAME = r"[\w.-]+(?::[\w./~-]+)?"
_PART = rf"\s*({_NAME})\s*(?:\(([^()]*)\)\s*)?"
#: The text of a policy.
FORM = re.compile(rf"{_PART}(?:\+{_PART})*")

#: The name that stands for the default policy of a device.
DEFAULT = "default"


def parse_policy(text: str) -> list[tuple[str, dict[str, float]]]:
    """Return the name and the parameters of each rule in the text of a policy: `d_choices(d=5)+sep_gc`.

    Raises:
        SsdgymError: the text is not of this form, a parameter is given twice, or its value is no number.
    """
    if FORM.fullmatch(text) is None:
        raise SsdgymError(
            f"policy {text!r} is not of the form NAME or NAME(parameter=value, ...), either with others "
            "behind it, as in greedy+sep_gc, or without."
        )
    return [(name, _parse_parameters(name, inner)) for name, inner in re.findall(_PART, text)]


def _parse_parameters(name: str, inner: str) -> dict[str, float]:
    given: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in inner.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise SsdgymError(f"parameter {part!r} of policy {name} is not of the form parameter=value.")
        if key in given:
            raise SsdgymError(f"parameter {key} of policy {name} is given twice.")
        try:
            given[key] = float(value)
        except ValueError:
            raise SsdgymError(f"parameter {key} of policy {name} must be a number, not {value!r}.") from None
    return given


def label_of(name: str, parameters: Mapping[str, float]) -> str:
    """Return the name and all parameters of a rule as a text that `parse_policy` reads."""
    given = (f"{key}={repr(float(value)).removesuffix('.0')}" for key, value in parameters.items())
    inner = ", ".join(given)
    return f"{name}({inner})" if inner else name


def check_name(name: str) -> None:
    """Raise if a rule cannot have this name.

    Raises:
        SsdgymError: the name has a character that names may not have, or is `default`.
    """
    if name == DEFAULT:
        raise SsdgymError(f"policy name {name!r} stands for the policy of a device; choose another name.")
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise SsdgymError(
            f"policy name {name!r} must start with a letter or _ and hold only letters, digits, _, . and -."
        )


def hint(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: the most similar known name, or all names."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}."


def files_of(functions: Iterable[Callable[..., Any]]) -> list[Path]:
    """Return the source files of functions and of the modules that they import from their package, sorted.

    The package of a rule of ssdgym is `ssdgym.baselines`, so `ssdgym.policy` and the engine are left out.
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
    """Return whether `other` is an imported module, in the same package as the module `name`."""
    depth = 2 if name.partition(".")[0] == __name__.partition(".")[0] else 1
    return other in sys.modules and other.split(".")[:depth] == name.split(".")[:depth]


@cache
def _imported(source: bytes, package: str) -> tuple[str, ...]:
    """Return the full names of all modules and objects that the source of a module of `package` imports."""
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


#: Modules with a function `rule_named`, which makes the rule, by the prefix before the colon in its name.
FOUND_BY = {"agent": "ssdgym.agents.rules"}
_IN_MODULE = re.compile(r"([A-Za-z_][\w.]*):")


def modules_of(policy: str) -> list[str]:
    """Return the modules that a policy names: `my_rules` for `my_rules:half+sep_gc`."""
    named = _IN_MODULE.findall(policy) if FORM.fullmatch(policy) else []
    return [module for module in named if module not in FOUND_BY]


def import_rules(policy: str, *, trust: bool) -> None:
    """Import the modules that a policy names, from the present folder or from installed packages.

    Args:
        policy: text of the policy.
        trust: whether modules that are not imported yet may be imported, which executes their code.

    Raises:
        SsdgymError: an import is not allowed, or a module does not exist or raises an error.
    """
    for module in modules_of(policy):
        if module not in sys.modules and not trust:
            raise SsdgymError(
                f"policy {policy}: loading it executes code of the module it names; if you trust it, give "
                "--trust (in Python: trust=True)."
            )
        import_own(module, f"policy {policy}")
