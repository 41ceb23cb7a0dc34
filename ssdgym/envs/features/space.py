"""The numbers of an observation, as the spaces of Gymnasium and by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from ssdgym.types import Feature


@dataclass(frozen=True)
class Features:
    """The columns of a kind of decision.

    Attributes:
        candidates: of every candidate.
        context: of the decision as a whole.
    """

    candidates: tuple[Feature, ...]
    context: tuple[Feature, ...]

    def names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns by part of the observation, for an environment's metadata."""
        return {
            "candidates": tuple(feature.name for feature in self.candidates),
            "context": tuple(feature.name for feature in self.context),
        }

    def space(self, candidates: int) -> spaces.Dict:
        """Return the space of the observations with so many candidates."""
        return spaces.Dict(
            candidates=_box(self.candidates, (candidates,)),
            context=_box(self.context, ()),
            action_mask=spaces.Box(0, 1, (candidates,), np.int8),
        )


def _box(features: tuple[Feature, ...], rows: tuple[int, ...]) -> spaces.Box:
    shape = (*rows, len(features))
    low = np.array([feature.low for feature in features], np.float32)
    high = np.array([feature.high for feature in features], np.float32)
    return spaces.Box(
        np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy(), dtype=np.float32
    )
