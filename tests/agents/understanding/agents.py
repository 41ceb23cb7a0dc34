"""Agents whose reasons are known."""

from __future__ import annotations

import numpy as np


class TakesMost:
    """Takes the valid candidate with most of one feature."""

    def __init__(self, column: int) -> None:
        self.column = column

    def act(self, observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(mask, observation["candidates"][..., self.column], -np.inf).argmax(axis=1)
