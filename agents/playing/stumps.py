"""Rules with one threshold for one or two observed features, as baselines for learned agents.

`ssdgym tune stump-subftl` finds such a rule on the training split of a suite. A text such as
`stump(feature=sector_writes, cut=0.3)` names a rule wherever an agent can be named.
"""

from __future__ import annotations

import numpy as np
from gymnasium.vector import VectorEnv

from ssdgym.errors import SsdgymError
from ssdgym.policy.names import hint
from ssdgym.types import Observation


class Stump:
    """Choose the valid candidate with the largest value of a feature, if that value is above a threshold.

    If several candidates have the largest value, the first of them is chosen. If no value is above the
    threshold, the first valid candidate is chosen. If all features are context features, the last valid
    candidate is chosen if the value is above the threshold.

    Args:
        env: the environment in which the rule acts.
        feature: name of the feature; with `-` before it, the negative of the feature.
        second: another feature, which is added with a weight; None: none. Adding logarithms ranks by the
            product, such as benefit times age. Adding a context feature shifts the threshold.
        weight: weight of the second feature.
        cut: the threshold; by default, every value is above it.

    Raises:
        SsdgymError: the environment does not observe a feature, or `cut` or `weight` is not a number.
    """

    def __init__(
        self,
        env: VectorEnv,
        feature: str,
        second: str | None = None,
        weight: float = 1.0,
        cut: float = -np.inf,
    ) -> None:
        columns = env.metadata["features"]
        known = [*columns["candidates"], *columns["context"]]
        sign = -1.0 if str(feature).startswith("-") else 1.0
        weights = {str(feature).removeprefix("-"): sign} | ({} if second is None else {second: weight})
        for name in weights:
            if name not in known:
                raise SsdgymError(f"stump: the environment observes no feature {name}; {hint(name, known)}")
        for number in (cut, weight):
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise SsdgymError(f"stump: cut and weight are numbers, not {number!r}; correct it.")
        self.cut = cut
        self.weights = {
            part: np.array([weights.get(name, 0.0) for name in columns[part]]) for part in columns
        }

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action in every environment, int64 (n,)."""
        own, shared = (observation[part] @ weights for part, weights in self.weights.items())
        last = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        differ = self.weights["candidates"].any()
        best = np.where(mask, own, -np.inf).argmax(axis=1) if differ else last
        above = own[np.arange(len(best)), best] + shared > self.cut
        return np.where(above, best, mask.argmax(axis=1))
