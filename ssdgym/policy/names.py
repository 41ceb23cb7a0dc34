"""How a policy is written: ``NAME``, ``NAME(parameter=value, ...)`` and either with ``+PLACEMENT``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from ssdgym.config.placements import PLACEMENTS
from ssdgym.errors import SsdgymError

__all__ = ["PLACEMENTS", "WrittenPolicy", "check_name", "hint", "label_of", "parse_policy"]

_NAME = r"[\w.-]+"
_FORM = re.compile(rf"\s*({_NAME})\s*(?:\(([^()]*)\)\s*)?((?:\+\s*{_NAME}\s*)*)")


@dataclass(frozen=True)
class WrittenPolicy:
    """A policy as it was written: a rule or a name for a composition, its parameters, and the placement."""

    name: str
    parameters: Mapping[str, float]
    placement: str | None


def parse_policy(text: str) -> WrittenPolicy:
    """The parts of ``gsm``, ``d_choices(d=5)`` or ``d_choices(d=5)+sep_gc``.

    Raises:
        SsdgymError: the text is not of that form, or its placement is unknown or given twice.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise SsdgymError(
            f"policy {text!r} is not of the form NAME or NAME(parameter=value, ...), either with +PLACEMENT "
            "behind it or without."
        )
    name, inner, rest = match.groups()
    placements = [part.strip() for part in rest.split("+")[1:]]
    for placement in placements:
        if placement not in PLACEMENTS:
            raise SsdgymError(
                f"policy {text!r}: placement {placement} does not exist; {hint(placement, PLACEMENTS)}"
            )
    if len(placements) > 1:
        raise SsdgymError(f"policy {text!r} names {len(placements)} placements; give one.")
    return WrittenPolicy(name, _parse_parameters(name, inner), placements[0] if placements else None)


def _parse_parameters(name: str, inner: str | None) -> dict[str, float]:
    given: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in (inner or "").split(","))):
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


def label_of(name: str, parameters: Mapping[str, float], placement: str | None) -> str:
    """A policy as :func:`parse_policy` reads it, with all its parameters."""
    inner = ", ".join(f"{key}={_number(value)}" for key, value in parameters.items())
    return name + (f"({inner})" if inner else "") + (f"+{placement}" if placement else "")


def _number(value: float) -> str:
    """A number in full, whole ones without a fraction."""
    return repr(float(value)).removesuffix(".0")


def check_name(name: str) -> None:
    """Refuse what could not be looked up under this name."""
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise SsdgymError(
            f"policy name {name!r} must start with a letter and hold only letters, digits, _, . and -."
        )


def hint(name: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown name."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}."
