"""Distilling: say what an agent chooses by a rule that can be read, and let that rule play.

A linear rule is a conditional logit of the agent's choices (McFadden, "Conditional logit analysis of
qualitative choice behavior", 1974). Any regressor with a `predict` can be played, too, such as a small
decision tree of scikit-learn, which nothing here needs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.understanding.recording import Decisions
from ssdgym.types import Observation

_STEPS = 200


class LinearRule:
    """An agent that takes the candidate with the highest weighted sum of features, the first of equals.

    Args:
        names: of the features that it will see.
        weights: (F,), of the candidate features.
    """

    def __init__(self, names: FeatureNames, weights: np.ndarray) -> None:
        self.names = names
        self.weights = np.asarray(weights, np.float64)

    @property
    def terms(self) -> dict[str, float]:
        """The weights by name."""
        return dict(zip(self.names.candidates, map(float, self.weights), strict=True))

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose a candidate in every environment; `rng` is not needed.

        Args:
            observation: with `candidates` (n, K, F).
            mask: bool (n, K), the valid ones.
            rng: not looked at.

        Returns:
            int64 (n,).
        """
        return np.where(mask, observation["candidates"] @ self.weights, -np.inf).argmax(axis=1)


def linear_rule(decisions: Decisions, penalty: float = 1e-3) -> LinearRule:
    """Fit a linear rule to the choices of an agent.

    The weights maximise the likelihood of the choices, each drawn from the softmax of the sums.

    Args:
        decisions: that the agent took.
        penalty: on the squares of the weights of features of unit spread; above 0, since choices that a
            linear rule explains without an exception would have infinite weights.
    """
    valid = decisions.mask[..., np.newaxis]
    values = np.where(valid, decisions.candidates, np.nan).astype(np.float64)
    values -= np.nanmean(values, axis=1, keepdims=True)
    spread = np.nanstd(values, axis=(0, 1))
    scaled = np.divide(values, spread, out=np.zeros_like(values), where=spread > 0)
    inputs = torch.from_numpy(np.where(valid, scaled, 0.0))
    invalid, choices = torch.from_numpy(~decisions.mask), torch.from_numpy(decisions.choices)
    weights = torch.zeros(inputs.shape[-1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimiser.zero_grad()
        scores = (inputs @ weights).masked_fill(invalid, -torch.inf)
        value = cross_entropy(scores, choices) + penalty * weights.square().sum()
        value.backward()
        return value.item()

    optimiser.step(loss)
    found = weights.detach().numpy()
    return LinearRule(decisions.names, np.divide(found, spread, out=np.zeros_like(found), where=spread > 0))


class Regressor(Protocol):
    """What scikit-learn's regressors have in common, as far as it is needed here."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return a number for each row."""


class RowRule:
    """An agent that takes the candidate for which a regressor predicts most, the first of equals.

    Args:
        regressor: fitted to `rows_of` and `chosen_of` the decisions of an agent.
    """

    def __init__(self, regressor: Regressor) -> None:
        self.regressor = regressor

    def act(self, observation: Observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose a candidate in every environment; `rng` is not needed.

        Args:
            observation: with `candidates` (n, K, F) and `context` (n, G).
            mask: bool (n, K), the valid ones.
            rng: not looked at.

        Returns:
            int64 (n,).
        """
        scores = np.full(mask.shape, -np.inf)
        scores[mask] = self.regressor.predict(_rows(observation["candidates"], observation["context"], mask))
        return scores.argmax(axis=1)


def rows_of(decisions: Decisions) -> np.ndarray:
    """Return a row of inputs for each valid candidate of each decision, float32 (rows, 2 F + G).

    Its columns, as `columns_of` names them, are the features, how far each is below the highest of that
    decision, and the context.

    Args:
        decisions: that an agent took.
    """
    return _rows(decisions.candidates, decisions.context, decisions.mask)


def chosen_of(decisions: Decisions) -> np.ndarray:
    """Return 1 for each row of `rows_of` that was chosen, 0 for the others, float64 (rows,).

    Args:
        decisions: that an agent took.
    """
    chosen = np.arange(decisions.mask.shape[1]) == decisions.choices[:, np.newaxis]
    return chosen[decisions.mask].astype(np.float64)


def columns_of(names: FeatureNames) -> list[str]:
    """Return the names of the columns of `rows_of`.

    Args:
        names: of the features.
    """
    return [*names.candidates, *(f"{name} below best" for name in names.candidates), *names.context]


def _rows(candidates: np.ndarray, context: np.ndarray, mask: np.ndarray) -> np.ndarray:
    highest = np.where(mask[..., np.newaxis], candidates, -np.inf).max(axis=1, keepdims=True)
    about = np.broadcast_to(context[:, np.newaxis], (*mask.shape, context.shape[-1]))
    return np.concatenate([candidates, highest - candidates, about], axis=-1, dtype=np.float32)[mask]
