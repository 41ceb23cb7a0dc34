"""Checks of single values that users give."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of Python or numpy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return a value with numbers of numpy, also those in arrays, lists and tuples, as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(plain, value))
    return value
