"""Change fields of configurations by dotted names, check whole numbers, and read seeds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ssdgym.errors import SsdgymError, shown


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of Python or numpy and not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


#: Largest seed: seeds have 64 bits, as those that NumPy and Gymnasium draw.
LAST_SEED = 2**64 - 1


def seed_number(value: Any, what: str) -> int:
    """Convert a seed, a whole number of Python or numpy, to a number of Python.

    Args:
        value: the seed.
        what: name of the value in errors.

    Raises:
        SsdgymError: `value` is no whole number from 0 to `LAST_SEED`.
    """
    if not is_whole(value) or not 0 <= value <= LAST_SEED:
        raise SsdgymError(f"{what} must be a whole number from 0 to 2**64 - 1, not {shown(value)}.")
    return int(value)


def plain(value: Any) -> Any:
    """Convert a number of numpy, or the numbers in a list or tuple, to Python; an array becomes a list."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(plain, value))
    return value


def with_changes(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change nested fields, which are given by their dotted names.

    Args:
        fields: nested mappings. They stay as they are.
        changes: new values by dotted names; `{"ppo.gamma": 0.9}` keeps the other fields of `ppo`.

    Returns:
        A copy of `fields` with the changes.

    Raises:
        SsdgymError: a dotted name names a field of a value that is no mapping.
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
    """Convert changes with dotted names to nested mappings.

    Args:
        changes: values by name; a name may be dotted, and a value may be a mapping of fields.

    Raises:
        SsdgymError: a field is given twice, or both as a whole and in part.
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
    """Yield nested fields as pairs of a dotted name and its value; an empty mapping is a value."""
    for key, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def dotted(fields: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return nested fields as pairs of a dotted name and its value, sorted by name; omit empty mappings."""
    pairs = (pair for pair in _leaves(fields, "") if not isinstance(pair[1], Mapping))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def overlapping(name: str, others: Iterable[str]) -> str | None:
    """Return the first of `others` that names the same field, a part of it, or a mapping that contains it."""
    for other in others:
        if other == name or other.startswith(f"{name}.") or name.startswith(f"{other}."):
            return other
    return None


#: Most seeds in a range; a longer range is refused as a typing error.
MOST_SEEDS = 1_000_000


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a text such as `5`, `1,2,9` or `100-109`; a range includes both ends.

    Raises:
        ValueError: the text has another form, a range is too long, or a seed is named twice.
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError("write seeds as 5, as 1,2,9 or as a range 100-109")
        low, high = int(first), int(last if dash else first)
        if not low <= high <= LAST_SEED or high - low >= MOST_SEEDS:
            raise ValueError(f"give the lower seed first, and at most {MOST_SEEDS} seeds below 2**64")
        seeds += range(low, high + 1)
    if len(set(seeds)) < len(seeds):
        raise ValueError("name every seed once")
    return tuple(seeds)
