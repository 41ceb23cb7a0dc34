"""What a decision of an agent costs: multiply-adds, and bytes of weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ssdgym.agents.card import AgentCard, OrdinalConfig

_BYTES = 4


@dataclass(frozen=True)
class DecisionCost:
    """The cost of a decision; what pooling adds up and what is compared is left out.

    Attributes:
        shared_multiply_adds: once per decision.
        candidate_multiply_adds: for every candidate.
        weight_bytes: of the weights that scores need, in single precision.
    """

    shared_multiply_adds: int
    candidate_multiply_adds: int
    weight_bytes: int

    def multiply_adds(self, candidates: int) -> int:
        """Return the multiply-adds of a decision among so many candidates."""
        return self.shared_multiply_adds + self.candidate_multiply_adds * candidates


def cost_of(card: AgentCard) -> DecisionCost:
    """Return what a decision of an agent costs.

    Args:
        card: of the agent.
    """
    if card.ordinal is not None:
        return _cost_of_ordinal(card.ordinal, len(card.context_features))
    assert card.scorer is not None, "a card has one of the two"
    features, widths = len(card.candidate_features), card.scorer.hidden
    pooled = 2 * features if card.scorer.pooling == "mean_max" else 0
    shared = (len(card.context_features) + pooled) * widths[0]
    own = features * widths[0] + _between(widths) + widths[-1] + features
    biases = 2 * widths[0] + sum(widths[1:]) + 1
    return DecisionCost(shared, own, _BYTES * (shared + own + biases))


def _cost_of_ordinal(config: OrdinalConfig, entries: int) -> DecisionCost:
    """Return the cost of one number: what is centred and scaled, the linear part, and the network."""
    widths, heads = config.hidden, config.heads
    body = entries * widths[0] + _between(widths) if widths else 0
    last = widths[-1] if widths else 0
    linear = entries + max(count for _, count in config.ranges)  # weights, bias, thresholds
    weights = 2 * entries + heads * linear + body + sum(widths) + heads * (last + 1) * bool(widths)
    return DecisionCost(2 * entries + body + last, 0, _BYTES * weights)


def _between(widths: Sequence[int]) -> int:
    return sum(inputs * outputs for inputs, outputs in itertools.pairwise(widths))
