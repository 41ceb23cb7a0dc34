"""Solve monotone equations."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 100


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a monotone `function` is 0, or the end of ``low..high`` that is nearer to it."""
    rises = function(high) >= function(low)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if (function(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2
