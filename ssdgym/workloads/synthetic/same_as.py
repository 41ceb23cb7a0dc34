"""Synthetic traces that take values from others."""

from __future__ import annotations

from typing import Any

from ssdgym.config.loading import Config, available, load_config, read_named

_NOTES = ("sources", "assumed")


def with_values_of_another(model: type[Config], data: Any) -> Any:
    """Return the fields of a synthetic trace with those of the one that it names in `same_as`.

    Args:
        model: of both.
        data: the fields; returned as it is without `same_as`.

    Raises:
        ValueError: there is none of that name, or it has `same_as` itself.
    """
    if not isinstance(data, dict) or "same_as" not in data:
        return data
    own = {name: value for name, value in data.items() if name != "same_as"}
    if data["same_as"] not in available("synthetic_traces"):
        raise ValueError(
            f"names in same_as {data['same_as']!r:.60}, which is none of configs/synthetic_traces"
        )
    where, given = read_named(data["same_as"], "synthetic_traces")
    if "same_as" in given:
        raise ValueError(
            f"names in same_as {data['same_as']!r}, which has its own values from "
            f"{given['same_as']!r}; name that one"
        )
    other = load_config(model, given, "synthetic_traces", where)
    return _with_own(other.model_dump(exclude_unset=True), own)


def _with_own(other: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of another synthetic trace with one's own, reads, writes and notes field by field."""
    merged = {**other, **own}
    for name in ("reads", "writes", *_NOTES):
        if isinstance(other.get(name), dict) and isinstance(own.get(name), dict):
            merged[name] = {**other[name], **own[name]}
    # An own note takes the place of the other's, whichever of the two it was.
    for name, opposite in (_NOTES, _NOTES[::-1]):
        for noted in own.get(name, {}):
            merged.get(opposite, {}).pop(noted, None)
    return merged
