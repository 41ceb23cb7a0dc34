"""How a policy is written: parts like `NAME` or `NAME(parameter=value, ...)`, with `+` between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from ssdgym.errors import SsdgymError

#: The name of a rule, or a kind, a colon, and a name or path that is looked up where that kind is.
_NAME = r"[\w.-]+(?::[\w./~-]+)?"
_PART = rf"\s*({_NAME})\s*(?:\(([^()]*)\)\s*)?"
#: The whole of a policy.
FORM = re.compile(rf"{_PART}(?:\+{_PART})*")

#: What stands for the policy of a device where none is named.
DEFAULT = "default"


class WrittenPart(NamedTuple):
    """A rule, or a name for a composition, as it is written in a policy.

    Attributes:
        name: of the rule or composition.
        parameters: the values given to it, by name.
    """

    name: str
    parameters: Mapping[str, float]


def parse_policy(text: str) -> list[WrittenPart]:
    """Return the parts of a policy such as `gsm`, `d_choices(d=5)` or `d_choices(d=5)+sep_gc`.

    Raises:
        SsdgymError: the text is not of that form.
    """
    if FORM.fullmatch(text) is None:
        raise SsdgymError(
            f"policy {text!r} is not of the form NAME or NAME(parameter=value, ...), either with +PLACEMENT "
            "and +IDLE_RULE behind it or without."
        )
    return [WrittenPart(name, _parse_parameters(name, inner)) for name, inner in re.findall(_PART, text)]


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
    """Return a part as `parse_policy` reads it.

    Args:
        name: of the rule.
        parameters: all its parameters, by name.
    """
    inner = ", ".join(f"{key}={_number(value)}" for key, value in parameters.items())
    return f"{name}({inner})" if inner else name


def _number(value: float) -> str:
    """Return a number in full, whole ones without a fraction."""
    return repr(float(value)).removesuffix(".0")


def check_name(name: str) -> None:
    """Raise if a policy could not be looked up under this name.

    Raises:
        SsdgymError: it holds other characters than those of names, or is `default`.
    """
    if name == DEFAULT:
        raise SsdgymError(f"policy name {name!r} stands for the policy of a device; choose another name.")
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise SsdgymError(
            f"policy name {name!r} must start with a letter and hold only letters, digits, _, . and -."
        )


def has_near(name: str, known: Iterable[str]) -> bool:
    """Return whether one of some names is nearly the same as an unknown one."""
    return bool(get_close_matches(name, list(known), n=1))


def hint(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an unknown name.

    Args:
        name: as it was written.
        known: the names there are.
    """
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}."
