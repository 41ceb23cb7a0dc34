"""One network that scores every candidate of a decision, whatever their number.

The structure is that of Deep Sets (Zaheer et al., 2017): the same multilayer perceptron scores every
candidate, and what it knows of the others comes through a permutation-invariant pooling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError

MASKED_SCORE = -1e9
"""Score of a candidate that cannot be chosen; finite, so that it survives a bootstrap."""

Start = Literal["cost_benefit", "greedy", "none"]

# weights of (log_benefit, log_age) in the score that the network corrects
_START_WEIGHTS: dict[str, tuple[float, float]] = {"cost_benefit": (1.0, 1.0), "greedy": (1.0, 0.0)}


class ScorerConfig(Config):
    """Shape and starting point of a `CandidateScorer`."""

    hidden: tuple[int, ...] = Field((32, 32), min_length=1, description="units of each hidden layer")
    pooling: Literal["mean_max", "none"] = Field(
        "mean_max", description="what a candidate's score knows of the other candidates"
    )
    start: Start = Field("cost_benefit", description="heuristic whose ranking the untrained scorer has")
    sharpness: float = Field(
        40.0,
        gt=0,
        description="initial factor of the heuristic's score, an inverse temperature; with logarithms in "
        "units of 16 factors of two, 40 samples a candidate in proportion to the power 3.6 of its score",
    )


class CandidateScorer(nn.Module):
    """Scores and the value of a decision with any number of candidates.

    The score of a candidate is `sharpness * (w_benefit * log_benefit + w_age * log_age)`, the logarithm of
    the cost-benefit score of Kawaguchi, Nishioka, Motoda ("A Flash-Memory Based File System", USENIX 1995),
    plus a correction by a network whose last layer starts at zero: untrained, it ranks candidates as
    `ScorerConfig.start` does. All three factors are learned.

    Args:
        candidate_features: the names of the F columns of `candidates`.
        context_features: the names of the G entries of `context`.
        config: shape and starting point.

    Raises:
        SsdgymError: if the start needs a feature that the candidates do not have.
    """

    def __init__(
        self,
        candidate_features: Sequence[str],
        context_features: Sequence[str],
        config: ScorerConfig,
    ) -> None:
        super().__init__()
        self.config = config
        self.heuristic = _heuristic(candidate_features, config)
        features, context = len(candidate_features), len(context_features)
        pooled = 2 * features if config.pooling == "mean_max" else 0
        width = config.hidden[0]
        # the first layer is split: what all candidates share is computed once, not once per candidate
        self.candidate_layer = _linear(features, width)
        self.shared_layer = _linear(context + pooled, width)
        self.body = _body(config.hidden)
        self.score_layer = _zero(nn.Linear(config.hidden[-1], 1))
        self.value_embedding = _linear(features, width)
        self.value_body = nn.Sequential(
            _linear(context + 2 * width, width), nn.ReLU(), _zero(nn.Linear(width, 1))
        )

    def forward(self, candidates: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """Scores, shape (B, K); `MASKED_SCORE` where `mask` is zero.

        Args:
            candidates: float, (B, K, F).
            context: float, (B, G).
            mask: (B, K), nonzero where a candidate can be chosen.
        """
        valid = mask.bool()
        shared = context
        if self.config.pooling == "mean_max":
            shared = torch.cat([context, _pool(candidates, valid)], dim=-1)
        hidden = self.candidate_layer(candidates) + self.shared_layer(shared).unsqueeze(-2)
        scores = self.score_layer(self.body(hidden)).squeeze(-1)
        if self.heuristic is not None:
            scores = scores + self.heuristic(candidates)
        return scores.masked_fill(~valid, MASKED_SCORE)

    def value(self, candidates: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """Value, shape (B, 1), of the decision; the arguments are those of `forward`."""
        embedded = torch.relu(self.value_embedding(candidates))
        return self.value_body(torch.cat([context, _pool(embedded, mask.bool())], dim=-1))


class _LogCostBenefit(nn.Module):
    """sharpness * (w_benefit * log_benefit + w_age * log_age), all three learned."""

    def __init__(self, benefit: int, age: int, weights: tuple[float, float], sharpness: float) -> None:
        super().__init__()
        self.columns = [benefit, age]
        self.weights = nn.Parameter(torch.tensor(weights))
        # its logarithm is what is learned, so that the ranking cannot turn over through it
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(sharpness)))

    def forward(self, candidates: Tensor) -> Tensor:
        return self.log_sharpness.exp() * (candidates[..., self.columns] @ self.weights)


def _heuristic(candidate_features: Sequence[str], config: ScorerConfig) -> _LogCostBenefit | None:
    if config.start == "none":
        return None
    names = list(candidate_features)
    missing = [name for name in ("log_benefit", "log_age") if name not in names]
    if missing:
        raise SsdgymError(
            f"scorer.start: {config.start!r} needs the candidate feature {missing[0]!r}, which this "
            "environment does not have; use start: none."
        )
    columns = names.index("log_benefit"), names.index("log_age")
    return _LogCostBenefit(*columns, _START_WEIGHTS[config.start], config.sharpness)


def _pool(values: Tensor, valid: Tensor) -> Tensor:
    """Mean and maximum over the valid candidates, (B, 2 F); zero where there is none."""
    chosen = valid.unsqueeze(-1)
    count = chosen.sum(dim=-2).clamp(min=1)
    mean = (values * chosen).sum(dim=-2) / count
    lowest = torch.finfo(values.dtype).min
    maximum = values.masked_fill(~chosen, lowest).amax(dim=-2)
    return torch.cat([mean, maximum.masked_fill(~chosen.any(dim=-2), 0.0)], dim=-1)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))
    nn.init.zeros_(layer.bias)
    return layer


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _body(hidden: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.ReLU()]
    for inputs, outputs in zip(hidden[:-1], hidden[1:], strict=True):
        layers += [_linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)
