"""Values of decisions and their gradient, as `ssdgym.agents.ppo.actor` does it for scores."""

from __future__ import annotations

import torch
from torch import Tensor

from ssdgym.agents.ppo.arrays import Arrays, relu_gradient, views
from ssdgym.agents.ppo.decisions import Part
from ssdgym.agents.scorer import CandidateScorer


class Critic:
    """The part of a scorer that says what a decision is worth.

    Args:
        scorer: the network; what it weighs is read by `refresh`.
    """

    def __init__(self, scorer: CandidateScorer) -> None:
        self._scorer = scorer
        embedding, (body, _, last) = scorer.value_embedding, scorer.value_body
        self._width = embedding.out_features
        self._context = body.in_features - 2 * self._width
        self._body = body.weight.detach(), body.bias.detach()
        self._last = last.weight.detach()[0], last.bias.detach()
        # a bias is one more weight, that of the 1 in every candidate
        self._embedding = torch.empty(self._width, embedding.in_features + 1)
        self._arrays, self._pooled = Arrays(), Arrays()
        parts = (self._embedding, *self._body, *self._last)
        self._gradient, self._to = views([part.shape for part in parts])
        self.refresh()

    def refresh(self) -> None:
        """Read the weights of now, and begin a gradient of 0."""
        with torch.no_grad():
            self._embedding[:, :-1] = self._scorer.value_embedding.weight
            self._embedding[:, -1] = self._scorer.value_embedding.bias
            self._gradient.zero_()

    def values(self, part: Part) -> Tensor:
        """Return the values (B,).

        Args:
            part: B decisions.
        """
        embedded, _ = self._embeddings(part)
        pooled, hidden = self._pools(part)
        torch.mm(part.candidates.flatten(0, 1), self._embedding.t(), out=embedded.flatten(0, 1)).relu_()
        if part.mask is not None:
            embedded.mul_(part.mask.unsqueeze(-1))
        context, mean, maximum = pooled.split([self._context, self._width, self._width], dim=1)
        context.copy_(part.around[:, : self._context])
        torch.sum(embedded, 0, out=mean).div_(part.counts())
        torch.amax(embedded, 0, out=maximum)
        torch.addmm(self._body[1], pooled, self._body[0].t(), out=hidden).relu_()
        return torch.addmv(self._last[1], hidden, self._last[0])

    def backward(self, part: Part, to_values: Tensor) -> None:
        """Add to the gradient; what the latest call of `values` has left is read, and overwritten.

        Args:
            part: the decisions of that call.
            to_values: derivatives of what is minimised by the values, float32 (B,).
        """
        embedded, slopes = self._embeddings(part)
        pooled, hidden = self._pools(part)
        to_embedding, to_body, to_bias, to_last, to_end = self._to
        to_end.add_(to_values.sum())
        to_last.addmv_(hidden.t(), to_values)
        up = relu_gradient(torch.outer(to_values, self._last[0]), hidden, 0, grad_input=hidden)
        to_body.addmm_(up.t(), pooled)
        to_bias.add_(up.sum(0))
        to_mean, to_maximum = (up @ self._body[0][:, self._context :]).split(self._width, dim=1)
        # 1 where a candidate has the maximum, else 0; equal maxima share its slope
        torch.ge(embedded, pooled[:, -self._width :], out=slopes)
        to_maximum = to_maximum / slopes.sum(0)
        torch.addcmul(to_mean / part.counts(), slopes, to_maximum, out=slopes)
        relu_gradient(slopes, embedded, 0, grad_input=slopes)
        to_embedding.addmm_(slopes.flatten(0, 1).t(), part.candidates.flatten(0, 1))

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient by the names of the parameters of the scorer."""
        embedding, *others = self._to
        found = {"value_embedding.weight": embedding[:, :-1], "value_embedding.bias": embedding[:, -1]}
        names = ("value_body.0.weight", "value_body.0.bias", "value_body.2.weight", "value_body.2.bias")
        return found | dict(zip(names, others, strict=True))

    def _embeddings(self, part: Part) -> list[Tensor]:
        """Return the arrays of the embedded candidates and of their slopes, (K, B, width)."""
        choices, count, _ = part.candidates.shape
        arrays = self._arrays.of(choices * count, [self._width] * 2)
        return [array.view(choices, count, -1) for array in arrays]

    def _pools(self, part: Part) -> list[Tensor]:
        """Return the arrays of what is pooled, and of the layer above."""
        return self._pooled.of(len(part.around), [self._context + 2 * self._width, self._width])
