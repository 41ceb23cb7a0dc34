"""Nested fields by their dotted names: `gc.free_blocks` is the field `free_blocks` of `gc`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ssdgym.errors import SsdgymError


def with_changes(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace nested fields by their dotted names.

    Args:
        fields: nested mappings; they are left as they are.
        changes: by dotted names; `{"ppo.gamma": 0.9}` leaves the rest of `ppo`.

    Returns:
        The changed fields.

    Raises:
        SsdgymError: a name leads through something that has no fields.
    """
    changed = dict(fields)
    for name, value in changes.items():
        first, dot, rest = name.partition(".")
        if not dot:
            changed[first] = value
            continue
        inner = changed.get(first, {})
        if not isinstance(inner, Mapping):
            raise SsdgymError(f"field {name} does not exist, since {first} has no fields.")
        changed[first] = with_changes(inner, {rest: value})
    return changed


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of which some have dotted names as nested mappings.

    Args:
        changes: values by names, dotted or not; a mapping changes fields of a part.

    Raises:
        SsdgymError: a field is given twice.
    """
    leaves: dict[str, Any] = {}
    for name, value in _leaves(changes, ""):
        if name in leaves:
            raise SsdgymError(f"field {name} is given twice; give it once.")
        other = overlapping(name, leaves)
        if other is not None:
            raise SsdgymError(f"fields {name} and {other} are given; give either the whole or its parts.")
        leaves[name] = value
    return with_changes({}, leaves)


def _leaves(fields: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def dotted(fields: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return nested fields as pairs of a dotted name and its value, in order of the names."""
    pairs: list[tuple[str, Any]] = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}.{inner}", leaf) for inner, leaf in dotted(value)]
        else:
            pairs.append((name, value))
    return tuple(sorted(pairs))


def overlapping(name: str, others: Iterable[str]) -> str | None:
    """Return the first of the others that is the same field, a part of it or what has it as a part.

    Args:
        name: dotted name of a field.
        others: dotted names; `None` is returned where all of them are different fields.
    """
    for other in others:
        if other == name or other.startswith(f"{name}.") or name.startswith(f"{other}."):
            return other
    return None
