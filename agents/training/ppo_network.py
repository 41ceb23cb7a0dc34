"""Decisions as arrays, and actor and critic over them with their gradients.

Arrays are allocated once, since fresh memory takes longer than the sums, and the gradients are written by
hand, since those of PyTorch move several times as much memory: with autograd, training takes 0.87 times as
many decisions per second among 16 candidates and 0.65 times as many among 128. Both equal the modules'
up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssdgym.agents.networks import MASKED_SCORE, CandidateScorer, pool
from ssdgym.types import Observation

#: The gradient of relu, written into an array that is there: (gradient, output, 0, grad_input=array).
_relu_gradient = torch.ops.aten.threshold_backward.grad_input
#: Decisions in a minibatch at most, where all are computed one minibatch after the other.
_CHUNK = 1024


class Arrays:
    """Arrays of any number of rows, in the same memory whatever their number."""

    def __init__(self) -> None:
        self._rows = 0
        self._arrays: dict[int, list[Tensor]] = {}

    def of(self, rows: int, widths: Sequence[int]) -> list[Tensor]:
        """Return float32 arrays (rows, width) with anything in them; widths are the same in every call."""
        if rows > self._rows:
            self._rows, self._arrays = rows, {rows: [torch.empty(rows, width) for width in widths]}
        if rows not in self._arrays:
            self._arrays[rows] = [array[:rows] for array in self._arrays[self._rows]]
        return self._arrays[rows]


def _zeros(shapes: Sequence[Sequence[int]]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros, and arrays of these shapes that it consists of."""
    sizes = [math.prod(shape) for shape in shapes]
    vector = torch.zeros(sum(sizes))
    views = [view.view(tuple(shape)) for view, shape in zip(vector.split(sizes), shapes, strict=True)]
    return vector, views


class Minibatch(NamedTuple):
    """B decisions to compute with, the candidate as first axis: sums over candidates are quickest so.

    Attributes:
        candidates: float32 (K, B, F + 1), F features and a 1, the input that a bias weighs.
        context: what all candidates of a decision share, float32 (B, S): G context features, then, where the
            scorer pools, mean and maximum of the candidates.
        mask: bool (K, B), which candidates can be chosen; None where all can.
    """

    candidates: Tensor
    context: Tensor
    mask: Tensor | None

    def counts(self) -> Tensor | int:
        """Return how many candidates can be chosen, at least 1: float32 (B, 1), or one number for all."""
        if self.mask is None:
            return len(self.candidates)
        return self.mask.sum(0).clamp(min=1).to(torch.float32).unsqueeze(1)


class Decisions(NamedTuple):
    """B decisions as they are kept; what the candidates of each have in common is pooled once.

    Attributes:
        candidates: float32 (B, K, F + 1), as in `Minibatch`.
        context: float32 (B, S), as in `Minibatch`.
        mask: bool (B, K); None where all can be chosen.
    """

    candidates: Tensor
    context: Tensor
    mask: Tensor | None

    @classmethod
    def like(cls, scorer: CandidateScorer, observation: Observation, count: int) -> Decisions:
        """Return arrays for `count` decisions of the shape of an observation."""
        _, choices, features = observation["candidates"].shape
        return cls(
            candidates=torch.ones(count, choices, features + 1),
            context=torch.empty(count, scorer.shared_layer.in_features),
            mask=torch.empty(count, choices, dtype=torch.bool),
        )

    @classmethod
    def of(cls, scorer: CandidateScorer, observation: Observation) -> Decisions:
        """Return what is observed."""
        return cls.like(scorer, observation, len(observation["candidates"])).write(observation)

    def write(self, observation: Observation) -> Decisions:
        """Write an observation of as many decisions over these; without mask where all can be chosen."""
        assert self.mask is not None, "these are arrays for any decisions"
        candidates, given = observation["candidates"], observation["context"].shape[1]
        mask, context = observation["action_mask"] != 0, self.context.numpy()
        full, features = bool(mask.all()), candidates.shape[2]
        # by numpy: after a step of the environment no code is in the cache, and that of PyTorch is the longer
        self.candidates.numpy()[:, :, :-1] = candidates
        self.mask.numpy()[:] = mask
        context[:, :given] = observation["context"]
        pooled = context[:, given:]
        if pooled.shape[1] and full:  # the rule, and had in a fraction of the operations
            np.add.reduce(candidates, axis=1, out=pooled[:, :features])
            pooled[:, :features] /= candidates.shape[1]
            np.maximum.reduce(candidates, axis=1, out=pooled[:, features:])
        elif pooled.shape[1]:
            pooled[:] = pool(torch.from_numpy(candidates), torch.from_numpy(mask)).numpy()
        return self._replace(mask=None) if full else self

    def between(self, first: int, end: int) -> Decisions:
        """Return the decisions from one to before another one, in the same arrays."""
        mask = None if self.mask is None else self.mask[first:end]
        return Decisions(self.candidates[first:end], self.context[first:end], mask)

    def whole(self, arrays: Arrays) -> Minibatch:
        """Return all of them to compute with; the candidates are written to `arrays`."""
        count, choices, width = self.candidates.shape
        candidates = arrays.of(count * choices, [width] * 2)[0].view(choices, count, width)
        candidates.copy_(self.candidates.transpose(0, 1))
        return Minibatch(candidates, self.context, None if self.mask is None else self.mask.t())

    def split(self, arrays: Arrays) -> Iterator[Minibatch]:
        """Yield them to compute with, `_CHUNK` at most at a time, each written over the one before."""
        for first in range(0, len(self.context), _CHUNK):
            yield self.between(first, first + _CHUNK).whole(arrays)

    def take(self, rows: Tensor, arrays: Arrays) -> Minibatch:
        """Return those of some rows, int64 (b,), to compute with, over what `arrays` held before."""
        _, choices, width = self.candidates.shape
        candidates = arrays.of(len(rows) * choices, [width] * 2)[1].view(len(rows), choices, width)
        torch.index_select(self.candidates, 0, rows, out=candidates)
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Decisions(candidates, self.context.index_select(0, rows), mask).whole(arrays)


class Actor:
    """The part of a scorer that chooses; what it weighs is read by `refresh`."""

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
        self._outputs, self._gradients = Arrays(), Arrays()
        self._widths = [first.out_features, *(layer.out_features for layer in self._deeper.values())]
        shapes = [self._linear.shape, self._first.shape, self._shared.shape, self._last.shape]
        shapes += [part.shape for layer in self._deeper.values() for part in (layer.weight, layer.bias)]
        self._gradient, views = _zeros(shapes)
        self._of_linear, self._of_first, self._of_shared, self._of_last, *deeper = views
        self._of_deeper = list(zip(deeper[::2], deeper[1::2], strict=True))
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

    def scores(self, minibatch: Minibatch) -> Tensor:
        """Return the scores (K, B), -1e9 where masked."""
        common = minibatch.context @ self._shared.t()
        return _masked(self._pass(minibatch.candidates, common.unsqueeze(0)), minibatch.mask)

    def scores_as_kept(self, decisions: Decisions) -> Tensor:
        """Return the scores (B, K), -1e9 where masked."""
        common = decisions.context @ self._shared.t()
        return _masked(self._pass(decisions.candidates, common.unsqueeze(1)), decisions.mask)

    def _pass(self, candidates: Tensor, common: Tensor) -> Tensor:
        """Return scores of candidates, without mask.

        Args:
            candidates: float32 (K, B, F + 1) or (B, K, F + 1).
            common: what the first layer makes of what candidates share, (1, B, width) or (B, 1, width).
        """
        flat = candidates.flatten(0, 1)
        outputs = self._outputs.of(len(flat), self._widths)
        below = torch.mm(flat, self._first.t(), out=outputs[0])
        below.view(*candidates.shape[:2], -1).add_(common)
        below.relu_()
        for weight, bias, output in zip(self._weights, self._biases, outputs[1:], strict=True):
            below = torch.mm(below, weight.t(), out=output).add_(bias).relu_()
        return torch.mv(flat, self._linear).addmv_(below, self._last).view(candidates.shape[:2])

    def backward(self, minibatch: Minibatch, of_scores: Tensor) -> None:
        """Add the gradient by scores, float32 (K, B), 0 where masked, of the latest call of `scores`."""
        flat, gradient = minibatch.candidates.flatten(0, 1), of_scores.reshape(-1)
        outputs = self._outputs.of(len(flat), self._widths)
        arrays = self._gradients.of(len(flat), self._widths[:-1])
        self._of_linear.addmv_(flat.t(), gradient)
        self._of_last.addmv_(outputs[-1].t(), gradient)
        # without the factor `last`, which `gradients` multiplies the sums over decisions by
        top = outputs[-1]
        up = _relu_gradient(gradient.unsqueeze(1).expand_as(top), top, 0, grad_input=top)
        factor = self._last.unsqueeze(1)
        for i in range(len(arrays) - 1, -1, -1):
            self._of_deeper[i][0].addmm_(up.t(), outputs[i])
            self._of_deeper[i][1].add_(up.sum(0))
            up = torch.mm(up, self._weights[i] * factor, out=arrays[i])
            _relu_gradient(up, outputs[i], 0, grad_input=up)
            factor = torch.ones(())
        self._of_first.addmm_(up.t(), flat)
        of_context = up.view(*minibatch.candidates.shape[:2], -1).sum(0)
        self._of_shared.addmm_(of_context.t(), minibatch.context)

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient by the names of the parameters of the scorer."""
        *_, top = [(self._of_first, self._of_shared), *self._of_deeper]
        for part in top:
            part.mul_(self._last.unsqueeze(1) if part.dim() > 1 else self._last)
        linear, first = self._of_linear, self._of_first
        found = {
            "linear.weights": linear[:-1] * self._sharpness,
            "linear.log_sharpness": linear[:-1] @ self._linear[:-1],
            "candidate_layer.weight": first[:, :-1],
            "candidate_layer.bias": first[:, -1],
            "shared_layer.weight": self._of_shared,
            "shared_layer.bias": first[:, -1],
            "score_layer.weight": self._of_last,
            "score_layer.bias": linear[-1],
        }
        for name, (weight, bias) in zip(self._deeper, self._of_deeper, strict=True):
            found |= {f"body.{name}.weight": weight, f"body.{name}.bias": bias}
        return found


def _masked(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.masked_fill_(~mask, MASKED_SCORE)


class Critic:
    """The part of a scorer that values decisions; what it weighs is read by `refresh`."""

    def __init__(self, scorer: CandidateScorer) -> None:
        self._scorer = scorer
        embedding, (body, _, last) = scorer.value_embedding, scorer.value_body
        self._width = embedding.out_features
        self._entries = body.in_features - 2 * self._width
        self._body = body.weight.detach(), body.bias.detach()
        self._last = last.weight.detach()[0], last.bias.detach()
        # a bias is one more weight, that of the 1 in every candidate
        self._embedding = torch.empty(self._width, embedding.in_features + 1)
        self._arrays, self._pooled = Arrays(), Arrays()
        parts = (self._embedding, *self._body, *self._last)
        self._gradient, self._views = _zeros([part.shape for part in parts])
        self.refresh()

    def refresh(self) -> None:
        """Read the weights of now, and begin a gradient of 0."""
        with torch.no_grad():
            self._embedding[:, :-1] = self._scorer.value_embedding.weight
            self._embedding[:, -1] = self._scorer.value_embedding.bias
            self._gradient.zero_()

    def values(self, minibatch: Minibatch) -> Tensor:
        """Return the values (B,)."""
        embedded, _ = self._embeddings(minibatch)
        pooled, hidden = self._pools(minibatch)
        torch.mm(minibatch.candidates.flatten(0, 1), self._embedding.t(), out=embedded.flatten(0, 1)).relu_()
        if minibatch.mask is not None:
            embedded.mul_(minibatch.mask.unsqueeze(-1))
        context, mean, maximum = pooled.split([self._entries, self._width, self._width], dim=1)
        context.copy_(minibatch.context[:, : self._entries])
        torch.sum(embedded, 0, out=mean).div_(minibatch.counts())
        torch.amax(embedded, 0, out=maximum)
        torch.addmm(self._body[1], pooled, self._body[0].t(), out=hidden).relu_()
        return torch.addmv(self._last[1], hidden, self._last[0])

    def backward(self, minibatch: Minibatch, of_values: Tensor) -> None:
        """Add the gradient by values, float32 (B,), of the latest call of `values`."""
        embedded, gradients = self._embeddings(minibatch)
        pooled, hidden = self._pools(minibatch)
        of_embedding, of_body, of_bias, of_last, of_end = self._views
        of_end.add_(of_values.sum())
        of_last.addmv_(hidden.t(), of_values)
        up = _relu_gradient(torch.outer(of_values, self._last[0]), hidden, 0, grad_input=hidden)
        of_body.addmm_(up.t(), pooled)
        of_bias.add_(up.sum(0))
        of_mean, of_maximum = (up @ self._body[0][:, self._entries :]).split(self._width, dim=1)
        # 1 where a candidate has the maximum, else 0; equal maxima share its gradient
        torch.ge(embedded, pooled[:, -self._width :], out=gradients)
        of_maximum = of_maximum / gradients.sum(0)
        torch.addcmul(of_mean / minibatch.counts(), gradients, of_maximum, out=gradients)
        _relu_gradient(gradients, embedded, 0, grad_input=gradients)
        of_embedding.addmm_(gradients.flatten(0, 1).t(), minibatch.candidates.flatten(0, 1))

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient by the names of the parameters of the scorer."""
        embedding, *others = self._views
        found = {"value_embedding.weight": embedding[:, :-1], "value_embedding.bias": embedding[:, -1]}
        names = ("value_body.0.weight", "value_body.0.bias", "value_body.2.weight", "value_body.2.bias")
        return found | dict(zip(names, others, strict=True))

    def _embeddings(self, minibatch: Minibatch) -> list[Tensor]:
        """Return the arrays of the embedded candidates and of their gradients, (K, B, width)."""
        choices, count, _ = minibatch.candidates.shape
        arrays = self._arrays.of(choices * count, [self._width] * 2)
        return [array.view(choices, count, -1) for array in arrays]

    def _pools(self, minibatch: Minibatch) -> list[Tensor]:
        """Return the arrays of what is pooled, and of the layer above."""
        return self._pooled.of(len(minibatch.context), [self._entries + 2 * self._width, self._width])


class Network:
    """Actor and critic.

    Args:
        scorer: the network; its parameters become parts of one vector, so a scorer has one network.

    Attributes:
        scorer: the network.
        parameters: that vector, with a gradient: an optimiser takes the time of one parameter for all.
        arrays: for the decisions that are computed with.
    """

    def __init__(self, scorer: CandidateScorer) -> None:
        self.scorer = scorer
        named = dict(scorer.named_parameters())
        self._names = list(named)
        vector = torch.nn.utils.parameters_to_vector(named.values()).detach()
        # unlike its inverse, which copies back
        for parameter, part in zip(
            named.values(), vector.split([parameter.numel() for parameter in named.values()]), strict=True
        ):
            parameter.data = part.view_as(parameter)
        self.parameters = torch.nn.Parameter(vector)
        self._gradient = self.parameters.grad = torch.zeros_like(vector)
        self.actor, self.critic, self.arrays = Actor(scorer), Critic(scorer), Arrays()

    def refresh(self) -> None:
        """Read the weights of now, and begin a gradient of 0."""
        self.actor.refresh()
        self.critic.refresh()

    def backward(self, minibatch: Minibatch, of_scores: Tensor, of_values: Tensor) -> None:
        """Add to the gradient, as the actor and the critic do."""
        self.actor.backward(minibatch, of_scores)
        self.critic.backward(minibatch, of_values)

    def finish(self) -> None:
        """Write the gradient to that of `parameters`."""
        found = self.actor.gradients() | self.critic.gradients()
        torch.cat([found[name].reshape(-1) for name in self._names], out=self._gradient)

    def clip(self, norm: float) -> None:
        """Shorten the gradient to a Euclidean norm at most, as `torch.nn.utils.clip_grad_norm_` does."""
        self._gradient.mul_((norm / (self._gradient.norm() + 1e-6)).clamp(max=1))
