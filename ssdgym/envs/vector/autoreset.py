"""The arguments of a vector environment that say which of its environments begin a new episode, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from ssdgym.errors import SsdgymError


def autoreset_mode_of(value: AutoresetMode | str) -> AutoresetMode:
    """Return the mode that an argument names.

    Args:
        value: the mode, or its value as a string.

    Raises:
        SsdgymError: there is no such mode.
    """
    try:
        return AutoresetMode(value)
    except ValueError as error:
        modes = ", ".join(f"{mode.value!r}" for mode in AutoresetMode)
        raise SsdgymError(f"autoreset_mode must be one of {modes}, not {value!r:.60}.") from error


def seeds_of(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """Return a seed for each environment; None stands for drawing the next one.

    Args:
        seed: a number seeds environment `i` with `seed + i`; or one for each.
        count: number of environments.

    Raises:
        SsdgymError: there is not one seed for each environment.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise SsdgymError(f"reset was given {len(seed)} seeds for {count} environments.")
    return [None if own is None else int(own) for own in seed]


def reset_mask_of(options: dict[str, Any] | None, count: int) -> np.ndarray:
    """Return which environments the options of a reset name, bool (n,); all if they name none.

    Args:
        options: of the reset; `reset_mask` is looked at.
        count: number of environments n.

    Raises:
        SsdgymError: the mask is not an array of n truth values, or none of them is true.
    """
    if options is None or "reset_mask" not in options:
        return np.ones(count, bool)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (count,):
        raise SsdgymError(f"options['reset_mask'] must be a bool array of shape ({count},).")
    if not mask.any():
        raise SsdgymError("options['reset_mask'] names no environment; at least one value must be True.")
    return mask
