"""One number along which decisions are sorted, cut into as many pieces as there are actions.

Write streams and how far an idle die collects are answers in an order: colder, or further. A page that is a
little colder belongs to the next stream, so one number and rising cuts say all, with few weights.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ssdgym.agents.networks.shapes import SWITCH, ScaleConfig
from ssdgym.errors import SsdgymError

NEVER_SCORE = -1e9
"""Score of an action that is not of the head's range, or masked; finite."""


class ScaleNetwork(nn.Module):
    """Scores of actions in an order, from what is known of a decision.

    With `x` the features, centred and scaled, a head `h` has `z = w_h x + b_h + f_h(x)`, where `f` is a
    multilayer perceptron whose last layer starts at zero, and cuts that rise. Its action is the first one of
    its range and as many more as cuts lie below `z`; the score of an action is the sum of `z - cut` over the
    cuts before it, so that the highest score is that action.

    Args:
        context_features: names of the G entries of `context`.
        config: shape.

    Raises:
        SsdgymError: there are two heads, and no feature that tells them apart.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, context_features: Sequence[str], config: ScaleConfig) -> None:
        super().__init__()
        if config.heads > 1 and SWITCH not in context_features:
            raise SsdgymError(f"scale.ranges: two heads need the feature {SWITCH}; add it to the features.")
        self.config = config
        self.switch = list(context_features).index(SWITCH) if config.heads > 1 else -1
        features, heads = len(context_features), config.heads
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.weights = nn.Parameter(torch.zeros(heads, features))
        self.bias = nn.Parameter(torch.zeros(heads))
        most = max(count for _, count in config.ranges)
        self.first_cut = nn.Parameter(torch.full((heads,), -0.5 * config.gap * (most - 2)))
        #: ln of the distance of a cut from the one before.
        self.log_gaps = nn.Parameter(torch.full((heads, max(most - 2, 0)), math.log(config.gap)))
        layers: list[nn.Module] = []
        for inputs, outputs in itertools.pairwise((features, *config.hidden)):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        if config.hidden:
            last = nn.Linear(config.hidden[-1], heads)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            layers.append(last)
        self.body = nn.Sequential(*layers)

    @property
    def cuts(self) -> Tensor:
        """The rising cuts of each head, (H, most actions - 1); a head of fewer actions uses the first."""
        gaps = self.log_gaps.exp()
        return torch.cat([self.first_cut[:, None], self.first_cut[:, None] + gaps.cumsum(-1)], dim=-1)

    def place(self, context: Tensor) -> Tensor:
        """Return `z` of each head, (B, H).

        Args:
            context: float, (B, G).
        """
        return self.number((context - self.centre) * self.scale)

    def number(self, scaled: Tensor) -> Tensor:
        """Return `z` of each head, (B, H).

        Args:
            scaled: the context, centred and scaled, (B, G).
        """
        numbers = scaled @ self.weights.T + self.bias
        return numbers + self.body(scaled) if self.config.hidden else numbers

    def number_weights(self) -> list[nn.Parameter]:
        """Return the weights that `z` is made of; the others are cuts."""
        return [self.weights, self.bias, *self.body.parameters()]

    def forward(self, candidates: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """Return the scores, shape (B, K).

        Args:
            candidates: not looked at.
            context: float, (B, G).
            mask: (B, K), nonzero where an action can be chosen.
        """
        numbers, cuts = self.place(context), self.cuts
        scores = torch.full(mask.shape, NEVER_SCORE, dtype=context.dtype, device=context.device)
        for head, (first, count) in enumerate(self.config.ranges):
            above = numbers[:, head, None] - cuts[head, : count - 1]
            own = torch.cat([torch.zeros_like(numbers[:, :1]), above.cumsum(-1)], dim=-1)
            if self.switch < 0:
                scores[:, first : first + count] = own
            else:
                mine = (context[:, self.switch] > 0.5) == bool(head)
                scores[mine, first : first + count] = own[mine]
        return scores.masked_fill(~mask.bool(), NEVER_SCORE)
