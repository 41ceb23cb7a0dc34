"""Actor and critic over decisions of several candidates, with their gradients.

Layers write into arrays that are there already, and the gradients are written by hand, since those of PyTorch
move several times as much memory. Both are the same as those of the modules up to rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ssdgym.agents.networks import MASKED_SCORE, CandidateScorer
from ssdgym.agents.training.ppo.decisions import Arrays, Decisions, Part, relu_gradient, views


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
        self._arrays, self._gradients = Arrays(), Arrays()
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
        gradients = self._gradients.of(len(flat), self._widths[:-1])
        self._to_linear.addmv_(flat.t(), slope)
        self._to_last.addmv_(outputs[-1].t(), slope)
        # without the factor `last`, which `gradients` puts to the sums over decisions
        up = relu_gradient(slope.unsqueeze(1).expand_as(outputs[-1]), outputs[-1], 0, grad_input=outputs[-1])
        factor = self._last.unsqueeze(1)
        for i in range(len(gradients) - 1, -1, -1):
            self._to_deeper[i][0].addmm_(up.t(), outputs[i])
            self._to_deeper[i][1].add_(up.sum(0))
            up = torch.mm(up, self._weights[i] * factor, out=gradients[i])
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
        embedded, gradients = self._embeddings(part)
        pooled, hidden = self._pools(part)
        to_embedding, to_body, to_bias, to_last, to_end = self._to
        to_end.add_(to_values.sum())
        to_last.addmv_(hidden.t(), to_values)
        up = relu_gradient(torch.outer(to_values, self._last[0]), hidden, 0, grad_input=hidden)
        to_body.addmm_(up.t(), pooled)
        to_bias.add_(up.sum(0))
        to_mean, to_maximum = (up @ self._body[0][:, self._context :]).split(self._width, dim=1)
        # 1 where a candidate has the maximum, else 0; equal maxima share its slope
        torch.ge(embedded, pooled[:, -self._width :], out=gradients)
        to_maximum = to_maximum / gradients.sum(0)
        torch.addcmul(to_mean / part.counts(), gradients, to_maximum, out=gradients)
        relu_gradient(gradients, embedded, 0, grad_input=gradients)
        to_embedding.addmm_(gradients.flatten(0, 1).t(), part.candidates.flatten(0, 1))

    def gradients(self) -> dict[str, Tensor]:
        """Return the gradient by the names of the parameters of the scorer."""
        embedding, *others = self._to
        found = {"value_embedding.weight": embedding[:, :-1], "value_embedding.bias": embedding[:, -1]}
        names = ("value_body.0.weight", "value_body.0.bias", "value_body.2.weight", "value_body.2.bias")
        return found | dict(zip(names, others, strict=True))

    def _embeddings(self, part: Part) -> list[Tensor]:
        """Return the arrays of the embedded candidates and of their gradients, (K, B, width)."""
        choices, count, _ = part.candidates.shape
        arrays = self._arrays.of(choices * count, [self._width] * 2)
        return [array.view(choices, count, -1) for array in arrays]

    def _pools(self, part: Part) -> list[Tensor]:
        """Return the arrays of what is pooled, and of the layer above."""
        return self._pooled.of(len(part.around), [self._context + 2 * self._width, self._width])


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

    def backward(self, part: Part, to_scores: Tensor, to_values: Tensor) -> None:
        """Add to the gradient; what the latest calls for scores and values have left is overwritten.

        Args:
            part: the decisions of these calls.
            to_scores: derivatives of what is minimised by the scores, float32 (K, B); 0 where masked.
            to_values: derivatives by the values, float32 (B,).
        """
        self.actor.backward(part, to_scores)
        self.critic.backward(part, to_values)

    def finish(self) -> None:
        """Write the gradient to that of `parameters`."""
        found = self.actor.gradients() | self.critic.gradients()
        torch.cat([found[name].reshape(-1) for name in self._names], out=self._gradient)

    def clip(self, norm: float) -> None:
        """Shorten the gradient to a Euclidean norm at most, as `torch.nn.utils.clip_grad_norm_` does."""
        self._gradient.mul_((norm / (self._gradient.norm() + 1e-6)).clamp(max=1))
