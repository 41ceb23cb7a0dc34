"""Checks of single values that users give."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssdgym.errors import SsdgymError, shown


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of Python or numpy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(value: Any, what: str) -> int:
    """Return a whole number of Python or numpy as one of Python.

    Args:
        value: the number.
        what: it is, for the error.

    Raises:
        SsdgymError: it is something else.
    """
    if not is_whole(value):
        raise SsdgymError(f"{what} must be a whole number, not {shown(value)}.")
    return int(value)


def plain(value: Any) -> Any:
    """Return a value with numbers of numpy, also those in arrays, lists and tuples, as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(plain, value))
    return value
