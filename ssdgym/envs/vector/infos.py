"""Infos of many environments as arrays, as `gymnasium.vector.VectorEnv` arranges them one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def batched(values: Mapping[str, Any], present: np.ndarray) -> dict[str, Any]:
    """Put beside each array the mask of the environments that have it; the others read 0.

    Args:
        values: arrays (n, ...) by name, or mappings of such; they become the caller's.
        present: bool (n,), which environments have them; likewise, one mask for all.

    Returns:
        The same as `VectorEnv` makes of the infos of single environments; nothing if none has them.
    """
    having = np.count_nonzero(present)
    if having == 0:
        return {}
    return _masked(values, present, None if having == len(present) else ~present)


def _masked(values: Mapping[str, Any], present: np.ndarray, absent: np.ndarray | None) -> dict[str, Any]:
    infos: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            infos[name] = _masked(value, present, absent)
        else:
            if absent is not None:
                value[absent] = 0
            infos[name] = value
        infos[f"_{name}"] = present
    return infos
