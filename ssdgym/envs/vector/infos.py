"""Infos of many environments as arrays, as `gymnasium.vector.VectorEnv` arranges them one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def batched(values: Mapping[str, Any], present: np.ndarray) -> dict[str, Any]:
    """Put beside each array the mask of the environments that have it; the others read 0.

    Args:
        values: arrays (n, ...) by name, or mappings of such; they are copied.
        present: bool (n,), which environments have them.

    Returns:
        The same as `VectorEnv` makes of the infos of single environments; nothing if none has them.
    """
    infos: dict[str, Any] = {}
    if not present.any():
        return infos
    for name, value in values.items():
        infos[name] = batched(value, present) if isinstance(value, Mapping) else _kept(value, present)
        infos[f"_{name}"] = present.copy()
    return infos


def _kept(value: np.ndarray, present: np.ndarray) -> np.ndarray:
    kept = value.copy()
    kept[~present] = 0
    return kept
