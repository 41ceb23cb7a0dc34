"""Scores of candidates and their gradient: what `CandidateScorer` computes, in less time.

Layers write into arrays that are there already, and the gradient is written by hand, since that of PyTorch
moves several times as much memory. Both are the same as those of the scorer up to rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ssdgym.agents.ppo.arrays import Arrays, relu_gradient, views
from ssdgym.agents.ppo.decisions import Decisions, Part
from ssdgym.agents.scorer import MASKED_SCORE, CandidateScorer


class Actor:
    """The part of a scorer that chooses.

    Args:
        scorer: the network; what it weighs is read by `refresh`.
    """

    def __init__(self, scorer: CandidateScorer) -> None:
        self._scorer = scorer
        first, shared = scorer.candidate_layer, scorer.shared_layer
        #: Layers after the first one, by name.
        self._deeper = {
            name: layer for name, layer in scorer.body.named_children() if isinstance(layer, torch.nn.Linear)
        }
        self._weights = [layer.weight.detach() for layer in self._deeper.values()]
        self._biases = [layer.bias.detach() for layer in self._deeper.values()]
        self._last = scorer.score_layer.weight.detach()[0]
        self._shared = shared.weight.detach()
        # a bias is one more weight, that of the 1 in every candidate
        self._first = torch.empty(first.out_features, first.in_features + 1)
        self._linear = torch.empty(first.in_features + 1)
        self._arrays, self._slopes = Arrays(), Arrays()
        self._widths = [first.out_features, *(layer.out_features for layer in self._deeper.values())]
        shapes = [self._linear.shape, self._first.shape, self._shared.shape, self._last.shape]
        shapes += [part.shape for layer in self._deeper.values() for part in (layer.weight, layer.bias)]
        self._gradient, parts = views(shapes)
        self._to_linear, self._to_first, self._to_shared, self._to_last, *deeper = parts
        self._to_deeper = list(zip(deeper[::2], deeper[1::2], strict=True))
        self.refresh()

    def refresh(self) -> None:
        """Read the weights of now, and begin a gradient of 0."""
        scorer = self._scorer
        with torch.no_grad():
            self._first[:, :-1] = scorer.candidate_layer.weight
            torch.add(scorer.candidate_layer.bias, scorer.shared_layer.bias, out=self._first[:, -1])
            self._sharpness = scorer.linear.log_sharpness.exp()
            torch.mul(scorer.linear.weights, self._sharpness, out=self._linear[:-1])
            self._linear[-1:] = scorer.score_layer.bias
            self._gradient.zero_()

    def scores(self, part: Part) -> Tensor:
        """Return the scores (K, B), -1e9 where masked.

        Args:
            part: B decisions.
        """
        common = part.around @ self._shared.t()
        return _masked(self._pass(part.candidates, common.unsqueeze(0)), part.mask)

    def scores_as_kept(self, decisions: Decisions) -> Tensor:
        """Return the scores (B, K), -1e9 where masked.

        Args:
            decisions: B of them.
        """
        common = decisions.around @ self._shared.t()
        return _masked(self._pass(decisions.candidates, common.unsqueeze(1)), decisions.mask)

    def _pass(self, candidates: Tensor, common: Tensor) -> Tensor:
        """Return scores of candidates, without mask.

        Args:
            candidates: float32 (K, B, F + 1) or (B, K, F + 1).
            common: what the first layer makes of what candidates share, (1, B, width) or (B, 1, width).
        """
        flat = candidates.flatten(0, 1)
        outputs = self._arrays.of(len(flat), self._widths)
        below = torch.mm(flat, self._first.t(), out=outputs[0])
        below.view(*candidates.shape[:2], -1).add_(common)
        below.relu_()
        for weight, bias, output in zip(self._weights, self._biases, outputs[1:], strict=True):
            below = torch.mm(below, weight.t(), out=output).add_(bias).relu_()
        return torch.mv(flat, self._linear).addmv_(below, self._last).view(candidates.shape[:2])

    def backward(self, part: Part, to_scores: Tensor) -> None:
        """Add to the gradient; what the latest call of `scores` has left is read, and overwritten.

        Args:
            part: the decisions of that call.
            to_scores: derivatives of what is minimised by the scores, float32 (K, B); 0 where masked.
        """
        flat, slope = part.candidates.flatten(0, 1), to_scores.reshape(-1)
        outputs = self._arrays.of(len(flat), self._widths)
        slopes = self._slopes.of(len(flat), self._widths[:-1])
        self._to_linear.addmv_(flat.t(), slope)
        self._to_last.addmv_(outputs[-1].t(), slope)
        # without the factor `last`, which `gradients` puts to the sums over decisions
        up = relu_gradient(slope.unsqueeze(1).expand_as(outputs[-1]), outputs[-1], 0, grad_input=outputs[-1])
        factor = self._last.unsqueeze(1)
        for i in range(len(slopes) - 1, -1, -1):
            self._to_deeper[i][0].addmm_(up.t(), outputs[i])
            self._to_deeper[i][1].add_(up.sum(0))
            up = torch.mm(up, self._weights[i] * factor, out=slopes[i])
            relu_gradient(up, outputs[i], 0, grad_input=up)
            factor = torch.ones(())
        self._to_first.addmm_(up.t(), flat)
        self._to_shared.addmm_(up.view(*part.candidates.shape[:2], -1).sum(0).t(), part.around)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient by the names of the parameters of the scorer."""
        *_, top = [(self._to_first, self._to_shared), *self._to_deeper]
        for part in top:
            part.mul_(self._last.unsqueeze(1) if part.dim() > 1 else self._last)
        linear, first = self._to_linear, self._to_first
        found = {
            "linear.weights": linear[:-1] * self._sharpness,
            "linear.log_sharpness": linear[:-1] @ self._linear[:-1],
            "candidate_layer.weight": first[:, :-1],
            "candidate_layer.bias": first[:, -1],
            "shared_layer.weight": self._to_shared,
            "shared_layer.bias": first[:, -1],
            "score_layer.weight": self._to_last,
            "score_layer.bias": linear[-1],
        }
        for name, (weight, bias) in zip(self._deeper, self._to_deeper, strict=True):
            found |= {f"body.{name}.weight": weight, f"body.{name}.bias": bias}
        return found


def _masked(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.masked_fill_(~mask, MASKED_SCORE)
