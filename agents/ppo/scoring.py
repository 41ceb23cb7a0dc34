"""Scores and values of many decisions at once: what `CandidateScorer` computes, in less time.

What candidates share is pooled once for a rollout and not once for every pass over it. The gradient is
written by hand in `_Layers`, since that of PyTorch moves twice as much memory; it is the same up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ssdgym.agents.scorer import MASKED_SCORE, CandidateScorer, pool

_TOGETHER = 1024
#: The gradient of relu, written into an array that is there: (gradient, output, 0, grad_input=array).
_relu_gradient = torch.ops.aten.threshold_backward.grad_input


class Decisions(NamedTuple):
    """B decisions as a scorer reads them.

    Attributes:
        candidates: float32 (B, K, F).
        around: what all candidates of a decision share, float32 (B, S): G context features, then, where the
            scorer pools, what the set of candidates is like.
        mask: bool (B, K), which candidates can be chosen.
    """

    candidates: Tensor
    around: Tensor
    mask: Tensor

    @classmethod
    def of(cls, scorer: CandidateScorer, candidates: Tensor, context: Tensor, mask: Tensor) -> Decisions:
        """Pool what the candidates of each decision are like.

        Args:
            scorer: that is to read them.
            candidates: float32 (B, K, F).
            context: float32 (B, G).
            mask: bool (B, K).
        """
        if scorer.config.pooling == "none":
            return cls(candidates, context, mask)
        # without masked candidates, which is the rule, the same is had in a fraction of the operations
        parts = [candidates.mean(1), candidates.amax(1)] if mask.all() else [pool(candidates, mask)]
        return cls(candidates, torch.cat([context, *parts], dim=-1), mask)

    def take(self, rows: Tensor) -> Decisions:
        """Return the decisions of some rows, int64 (b,)."""
        return Decisions(*(part.index_select(0, rows) for part in self))

    def split(self) -> Iterator[Decisions]:
        """Yield them in parts of such a size that what is computed stays in the cache."""
        for parts in zip(*(part.split(_TOGETHER) for part in self), strict=True):
            yield Decisions(*parts)


def scoring_with(scorer: CandidateScorer) -> Callable[[Decisions], Tensor]:
    """Return a function that scores the candidates of B decisions with the weights of now.

    Args:
        scorer: the network; its weights are not to change while the function is in use.

    Returns:
        Of decisions, the scores (B, K), -1e9 where masked; without gradients.
    """
    actor = [parameter.detach() for parameter in _actor_parameters(scorer)]

    def score(decisions: Decisions) -> Tensor:
        scores, _ = _score(decisions, *actor)
        return scores.masked_fill_(~decisions.mask, MASKED_SCORE)

    return score


def values_of(scorer: CandidateScorer, decisions: Decisions) -> Tensor:
    """Return the values (B,); without gradients.

    Args:
        scorer: the network.
        decisions: B of them.
    """
    embedding = scorer.value_embedding
    with torch.no_grad():
        pooled = _pool(_embed(decisions, embedding.weight, embedding.bias), decisions.mask)
        return _value(scorer, decisions, pooled)


def scores_and_values(scorer: CandidateScorer, decisions: Decisions) -> tuple[Tensor, Tensor]:
    """Return scores (B, K), -1e9 where masked, and values (B,), with gradients.

    Args:
        scorer: the network.
        decisions: B of them.
    """
    embedding = scorer.value_embedding
    actor = _actor_parameters(scorer)
    scores, pooled = _Layers.apply(decisions, embedding.weight, embedding.bias, *actor)
    return scores.masked_fill(~decisions.mask, MASKED_SCORE), _value(scorer, decisions, pooled)


def _value(scorer: CandidateScorer, decisions: Decisions, pooled: Tensor) -> Tensor:
    context = decisions.around[:, : scorer.value_body[0].in_features - pooled.shape[1]]
    return scorer.value_body(torch.cat([context, pooled], dim=-1)).squeeze(-1)


def _actor_parameters(scorer: CandidateScorer) -> list[Tensor]:
    """Return what `_score` takes beside decisions."""
    hidden = [layer for layer in scorer.body if isinstance(layer, torch.nn.Linear)]
    return [
        scorer.candidate_layer.weight,
        scorer.shared_layer.weight,
        scorer.shared_layer.bias + scorer.candidate_layer.bias,
        scorer.score_layer.weight[0],
        scorer.score_layer.bias,
        scorer.linear.log_sharpness.exp() * scorer.linear.weights,
        *(part for layer in hidden for part in (layer.weight, layer.bias)),
    ]


def _score(
    decisions: Decisions,
    first: Tensor,
    shared: Tensor,
    first_bias: Tensor,
    last: Tensor,
    last_bias: Tensor,
    linear: Tensor,
    *hidden: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """Return scores (B, K), masked ones included, and what each hidden layer puts out, (B K, width)."""
    shape, flat = decisions.mask.shape, decisions.candidates.flatten(0, 1)
    common = torch.addmm(first_bias, decisions.around, shared.t())
    outputs = [(flat @ first.t()).view(*shape, -1).add_(common.unsqueeze(1)).relu_().flatten(0, 1)]
    for weight, bias in zip(hidden[::2], hidden[1::2], strict=True):
        outputs.append((outputs[-1] @ weight.t()).add_(bias).relu_())
    scores = torch.addmv(flat @ linear, outputs[-1], last).view(shape)
    return scores.add_(last_bias), outputs


def _embed(decisions: Decisions, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the candidates as the value sees them, (B, K, width), zero where masked."""
    embedded = (decisions.candidates.flatten(0, 1) @ weight.t()).add_(bias).relu_()
    embedded = embedded.view(*decisions.mask.shape, -1)
    if not decisions.mask.all():
        embedded.mul_(decisions.mask.unsqueeze(-1))
    return embedded


def _pool(embedded: Tensor, mask: Tensor) -> Tensor:
    """Return mean and maximum over the valid candidates, (B, 2 width); nothing embedded is below zero."""
    return torch.cat([embedded.sum(1).div_(_count(mask)), embedded.amax(1)], dim=-1)


def _count(mask: Tensor) -> Tensor:
    """Return how many candidates are valid, float32 (B, 1)."""
    return mask.sum(-1, keepdim=True).clamp(min=1).to(torch.float32)


class _Layers(torch.autograd.Function):
    """Scores before masking, (B, K), and the pooled embedding of the candidates, (B, 2 width)."""

    @staticmethod
    def forward(
        ctx: Any, decisions: Decisions, weight: Tensor, bias: Tensor, *actor: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Compute both; the parameters are those of `_embed` and `_score`."""
        scores, outputs = _score(decisions, *actor)
        embedded = _embed(decisions, weight, bias)
        pooled = _pool(embedded, decisions.mask)
        ctx.save_for_backward(*decisions, embedded, pooled, *outputs)
        ctx.last, ctx.hidden = actor[3], actor[6::2]
        return scores, pooled

    @staticmethod
    def backward(ctx: Any, to_scores: Tensor, to_pooled: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the parameters; decisions have none."""
        candidates, around, mask, embedded, pooled, *outputs = ctx.saved_tensors
        flat, shape = candidates.flatten(0, 1), embedded.shape
        # the actor, from its last layer to its first
        scores = to_scores.reshape(-1)
        upstream = torch.outer(scores, ctx.last)
        hidden: list[Tensor] = []
        for weight, output, below in zip(ctx.hidden[::-1], outputs[:0:-1], outputs[-2::-1], strict=True):
            _relu_gradient(upstream, output, 0, grad_input=upstream)
            hidden = [upstream.t() @ below, upstream.sum(0), *hidden]
            upstream = upstream @ weight
        _relu_gradient(upstream, outputs[0], 0, grad_input=upstream)
        common = upstream.view(*shape[:2], -1).sum(1)
        actor = (
            upstream.t() @ flat,
            common.t() @ around,
            common.sum(0),
            scores @ outputs[-1],
            scores.sum().view(1),
            scores @ flat,
        )
        embedding = _embedding_gradient(embedded, pooled, mask, to_pooled).flatten(0, 1)
        return None, embedding.t() @ flat, embedding.sum(0), *actor, *hidden


def _embedding_gradient(embedded: Tensor, pooled: Tensor, mask: Tensor, to_pooled: Tensor) -> Tensor:
    """Return the gradient before the relu of `_embed`, (B, K, width); equal maxima share theirs."""
    width = embedded.shape[-1]
    to_mean, to_maximum = to_pooled.split(width, dim=-1)
    # 1 where a candidate has the maximum, else 0
    gradient = torch.ge(embedded, pooled[:, None, width:], out=torch.empty_like(embedded))
    gradient.mul_((to_maximum / gradient.sum(1)).unsqueeze(1)).add_((to_mean / _count(mask)).unsqueeze(1))
    return _relu_gradient(gradient, embedded, 0, grad_input=gradient)
