"""Old public names: they work for one more version and warn with the new name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that `old` is now called `new`.

    Args:
        old: the name that was used, as a user writes it: a Python name, an option, a YAML field.
        new: the name to use instead.
        stacklevel: how many callers above this function the warning points at, as in `warnings.warn`.
    """
    message = f"{old} is now called {new}; the old name will stop working in the next version"
    warnings.warn(message, FutureWarning, stacklevel + 1)


def old_arguments(**new_names: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that accepts the old names of keyword arguments.

    Args:
        new_names: the present name of each old one.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def renamed(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            for old in new_names.keys() & named.keys():
                warn_renamed(f"argument {old} of {function.__qualname__}", new_names[old])
                named[new_names[old]] = named.pop(old)
            return function(*arguments, **named)

        return renamed

    return decorate


def old_names(
    module: str, new_names: Mapping[str, str], old_objects: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a `__getattr__` that serves the old names of a module.

    Args:
        module: dotted name of the module that had the old names.
        new_names: for each old name the full dotted path of the new one.
        old_objects: full dotted paths of objects to serve in place of new ones that are used differently.

    Returns:
        The function to assign to `__getattr__` in the module.
    """

    def __getattr__(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = new_names[name]
        warn_renamed(f"{module}.{name}", new)
        home, _, attribute = (old_objects or {}).get(name, new).rpartition(".")
        return getattr(import_module(home), attribute)

    return __getattr__


def old_attributes(owner: str, new_names: Mapping[str, str]) -> Callable[[Any, str], Any]:
    """Return a `__getattr__` that serves the old names of a class's attributes.

    Args:
        owner: name of the class, for the warning.
        new_names: for each old name the new one, dotted where an attribute has moved into another.

    Returns:
        The function to assign to `__getattr__` in the class.
    """

    def __getattr__(self: Any, name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"{owner!r} object has no attribute {name!r}")
        warn_renamed(f"{owner}.{name}", f"{owner}.{new_names[name]}")
        return attrgetter(new_names[name])(self)

    return __getattr__
