"""Checks of single values that users give."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of Python or numpy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
