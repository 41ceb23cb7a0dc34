"""What a decision of an agent costs: multiply-adds, and bytes of weights."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ssdgym.agents.agent import Agent

_BYTES = 4


@dataclass(frozen=True)
class DecisionCost:
    """The cost of a decision of a scorer; what pooling adds up and compares is left out.

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


def cost_of(agent: Agent) -> DecisionCost:
    """Return what a decision of an agent costs.

    Args:
        agent: a trained agent.
    """
    card = agent.card
    features, widths = len(card.candidate_features), card.scorer.hidden
    pooled = 2 * features if card.scorer.pooling == "mean_max" else 0
    shared = (len(card.context_features) + pooled) * widths[0]
    body = sum(inputs * outputs for inputs, outputs in itertools.pairwise(widths))
    own = features * widths[0] + body + widths[-1] + features
    biases = 2 * widths[0] + sum(widths[1:]) + 1
    return DecisionCost(shared, own, _BYTES * (shared + own + biases))
