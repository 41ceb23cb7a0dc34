"""Types that several layers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntegerArray: TypeAlias = npt.NDArray[np.integer]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: The observation of a decision, or of a batch of decisions: arrays by name.
Observation: TypeAlias = dict[str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """The definition of one number of an observation.

    Attributes:
        name: name of the number. Agents find their features in an environment by name.
        meaning: a phrase that defines the number.
        unit: unit of the values.
        low: smallest possible value.
        high: largest possible value.
    """

    name: str
    meaning: str
    unit: str = "share"
    low: float = 0.0
    high: float = 1.0
