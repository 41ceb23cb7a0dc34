"""The networks of agents: one scores any number of candidates, another chooses among ordered actions.

`CandidateScorer` has the structure of Deep Sets (Zaheer et al., 2017): the same multilayer perceptron scores
every candidate. The other candidates enter only through a pooling that does not depend on their order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ssdgym.agents.card import SWITCH, AgentCard, OrdinalConfig, ScorerConfig, Start
from ssdgym.errors import SsdgymError

MASKED_SCORE = -1e9
"""Score of a candidate or action that cannot be chosen; it is finite to keep later sums finite."""

# initial weights of the features in the linear part of the score
_START_WEIGHTS: dict[str, dict[str, float]] = {
    "cost_benefit": {"log_benefit": 1.0, "log_age": 1.0},
    "greedy": {"log_benefit": 1.0},
    "none": {},
}


class CandidateScorer(nn.Module):
    """Computes a score for each of any number of candidates, and the value (expected return) of the decision.

    The score of a candidate is a linear function of its features plus a correction by a network whose last
    layer starts at zero. The linear part starts at `sharpness * (log_benefit + log_age)`, the logarithm of
    the cost-benefit score of Kawaguchi, Nishioka, Motoda ("A Flash-Memory Based File System", USENIX 1995),
    or, with `start: greedy`, at `sharpness * log_benefit`. So the untrained scorer ranks candidates as that
    heuristic does. PPO trains all weights and the sharpness; CMA-ES leaves the sharpness as it is.

    Args:
        candidate_features: the names of the F columns of `candidates`.
        context_features: the names of the G entries of `context`.
        config: shape of the network, and the heuristic that it ranks by before training.

    Raises:
        SsdgymError: the heuristic needs a feature that the candidates do not have.
    """

    def __init__(
        self, candidate_features: Sequence[str], context_features: Sequence[str], config: ScorerConfig
    ) -> None:
        super().__init__()
        self.config = config
        self.linear = _LinearScore(_start_weights(candidate_features, config.start), config.sharpness)
        features, context = len(candidate_features), len(context_features)
        pooled = 2 * features if config.pooling == "mean_max" else 0
        width = config.hidden[0]
        # The first layer has two parts: the part that all candidates share is computed once per decision.
        self.candidate_layer = _linear(features, width)
        self.shared_layer = _linear(context + pooled, width)
        self.body = _body(config.hidden)
        self.score_layer = _zero(nn.Linear(config.hidden[-1], 1))
        self.value_embedding = _linear(features, width)
        self.value_body = nn.Sequential(
            _linear(context + 2 * width, width), nn.ReLU(), _zero(nn.Linear(width, 1))
        )

    def forward(self, candidates: Tensor, context: Tensor, mask: Tensor | None) -> Tensor:
        """Return the scores, shape (B, K); `MASKED_SCORE` where `mask` is zero.

        Args:
            candidates: features of the candidates, float (B, K, F).
            context: features of the context, float (B, G).
            mask: (B, K), nonzero where a candidate can be chosen; None if all can be chosen.
        """
        valid = None if mask is None else mask.bool()
        shared = context
        if self.config.pooling == "mean_max":
            shared = torch.cat([context, pool(candidates, valid)], dim=-1)
        hidden = self.candidate_layer(candidates) + self.shared_layer(shared).unsqueeze(-2)
        scores = self.score_layer(self.body(hidden)).squeeze(-1)
        scores = scores + self.linear(candidates)
        return scores if valid is None else scores.masked_fill(~valid, MASKED_SCORE)

    def value(self, candidates: Tensor, context: Tensor, mask: Tensor | None) -> Tensor:
        """Return the value of each decision, shape (B, 1); the arguments are those of `forward`."""
        embedded = torch.relu(self.value_embedding(candidates))
        valid = None if mask is None else mask.bool()
        return self.value_body(torch.cat([context, pool(embedded, valid)], dim=-1))


class _LinearScore(nn.Module):
    """A learned linear score: sharpness * (candidates @ weights)."""

    def __init__(self, weights: list[float], sharpness: float) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(weights))
        # the logarithm is learned, so that the sharpness stays positive
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(sharpness)))

    def forward(self, candidates: Tensor) -> Tensor:
        return self.log_sharpness.exp() * (candidates @ self.weights)


def _start_weights(candidate_features: Sequence[str], start: Start) -> list[float]:
    weights = _START_WEIGHTS[start]
    for name in weights:
        if name not in candidate_features:
            raise SsdgymError(
                f"scorer.start: {start!r} needs the candidate feature {name!r}, which this environment "
                "does not have; use start: none."
            )
    return [weights.get(name, 0.0) for name in candidate_features]


def pool(values: Tensor, valid: Tensor | None) -> Tensor:
    """Return mean and maximum over the valid candidates, (B, 2 F); zeros if no candidate is valid.

    Args:
        values: float, (B, K, F).
        valid: bool, (B, K); None if all candidates are valid.
    """
    if valid is None:
        return torch.cat([values.mean(dim=-2), values.amax(dim=-2)], dim=-1)
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
    for inputs, outputs in itertools.pairwise(hidden):
        layers += [_linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class OrdinalNetwork(nn.Module):
    """Chooses among ordered actions by one number and rising thresholds.

    The actions of some decisions have an order: streams for colder and colder pages, or more and more
    background GC. For ordered actions, one number and thresholds need fewer weights than a score per action
    (ordinal regression: McCullagh, "Regression models for ordinal data", 1980).

    A network has one *head* for all decisions, or one for host pages and one for relocated pages. Head `h`
    computes `z = w_h x + b_h + f_h(x)` from the centred and scaled features `x`; `f` is a multilayer
    perceptron whose last layer starts at zero. The chosen action is the first action of the head's range plus
    the number of thresholds below `z`. An action's score is the sum of `z - threshold` over the thresholds
    that precede the action, so the chosen action has the highest score.

    Args:
        context_features: names of the G entries of `context`.
        config: shape of the network.

    Raises:
        SsdgymError: there are two heads, but `context_features` lack `SWITCH`, which chooses between them.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, context_features: Sequence[str], config: OrdinalConfig) -> None:
        super().__init__()
        if config.heads > 1 and SWITCH not in context_features:
            raise SsdgymError(f"ordinal.ranges: two heads need the feature {SWITCH}; add it to the features.")
        self.config = config
        self.switch = list(context_features).index(SWITCH) if config.heads > 1 else -1
        features, heads = len(context_features), config.heads
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.weights = nn.Parameter(torch.zeros(heads, features))
        self.bias = nn.Parameter(torch.zeros(heads))
        most = max(count for _, count in config.ranges)
        self.first_threshold = nn.Parameter(torch.full((heads,), -0.5 * config.gap * (most - 2)))
        #: ln of the distance between a threshold and the previous one.
        self.log_gaps = nn.Parameter(torch.full((heads, max(most - 2, 0)), math.log(config.gap)))
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise((features, *config.hidden)):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        if config.hidden:
            layers.append(_zero(nn.Linear(config.hidden[-1], heads)))
        self.body = nn.Sequential(*layers)

    @property
    def thresholds(self) -> Tensor:
        """The thresholds of each head, (H, most actions of a head - 1); a head of n actions uses n - 1."""
        first, gaps = self.first_threshold[:, None], self.log_gaps.exp()
        return torch.cat([first, first + gaps.cumsum(-1)], dim=-1)

    def place(self, context: Tensor) -> Tensor:
        """Return the number `z` of each head, (B, H), for a context (B, G)."""
        return self.number((context - self.centre) * self.scale)

    def number(self, scaled: Tensor) -> Tensor:
        """Return the number `z` of each head, (B, H), for a centred and scaled context (B, G)."""
        numbers = scaled @ self.weights.T + self.bias
        return numbers + self.body(scaled) if self.config.hidden else numbers

    def number_weights(self) -> list[nn.Parameter]:
        """Return all weights except the thresholds; they determine `z`."""
        return [self.weights, self.bias, *self.body.parameters()]

    def forward(self, candidates: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """Return the scores of the K actions, shape (B, K); `candidates` are ignored."""
        numbers, thresholds = self.place(context), self.thresholds
        scores = torch.full(mask.shape, MASKED_SCORE, dtype=context.dtype, device=context.device)
        for head, (first, count) in enumerate(self.config.ranges):
            above = numbers[:, head, None] - thresholds[head, : count - 1]
            own = torch.cat([torch.zeros_like(numbers[:, :1]), above.cumsum(-1)], dim=-1)
            if self.switch < 0:
                scores[:, first : first + count] = own
            else:
                mine = (context[:, self.switch] > 0.5) == bool(head)
                scores[mine, first : first + count] = own[mine]
        return scores.masked_fill(~mask.bool(), MASKED_SCORE)


def network_of(card: AgentCard) -> nn.Module:
    """Make the network that a card describes, with initial weights."""
    if card.ordinal is not None:
        return OrdinalNetwork(card.context_features, card.ordinal)
    assert card.scorer is not None, "a card has one of the two"
    return CandidateScorer(card.candidate_features, card.context_features, card.scorer)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Set the number of torch's threads inside the `with` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
