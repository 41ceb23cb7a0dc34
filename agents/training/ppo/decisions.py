"""Decisions of a rollout as flat arrays, allocated once: fresh memory takes longer than the sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ssdgym.agents.networks import CandidateScorer, pool
from ssdgym.types import Observation

#: The gradient of relu, written into an array that is there: (gradient, output, 0, grad_input=array).
relu_gradient = torch.ops.aten.threshold_backward.grad_input


class Arrays:
    """Arrays of as many rows as are asked for, in the same memory whatever their number."""

    def __init__(self) -> None:
        self._rows = 0
        self._parts: dict[int, list[Tensor]] = {}

    def of(self, rows: int, widths: Sequence[int]) -> list[Tensor]:
        """Return float32 arrays (rows, width) with anything in them.

        Args:
            rows: of each.
            widths: one for each array; the same in every call.
        """
        if rows > self._rows:
            self._rows, self._parts = rows, {rows: [torch.empty(rows, width) for width in widths]}
        if rows not in self._parts:
            self._parts[rows] = [array[:rows] for array in self._parts[self._rows]]
        return self._parts[rows]


def views(shapes: Sequence[Sequence[int]]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros, and arrays that it consists of.

    Args:
        shapes: of the arrays.
    """
    sizes = [math.prod(shape) for shape in shapes]
    vector = torch.zeros(sum(sizes))
    parts = [part.view(tuple(shape)) for part, shape in zip(vector.split(sizes), shapes, strict=True)]
    return vector, parts


#: Decisions in a part at most, where all are computed one part after the other.
TOGETHER = 1024


class Part(NamedTuple):
    """B decisions to compute with, the candidate as first axis: sums over candidates are quickest so.

    Attributes:
        candidates: float32 (K, B, F + 1), F features and a 1, the input that a bias weighs.
        around: what all candidates of a decision share, float32 (B, S): G context features, then, where the
            scorer pools, what the set of candidates is like.
        mask: bool (K, B), which candidates can be chosen; None where all can.
    """

    candidates: Tensor
    around: Tensor
    mask: Tensor | None

    def counts(self) -> Tensor | int:
        """Return how many candidates can be chosen, at least 1: float32 (B, 1), or one number for all."""
        if self.mask is None:
            return len(self.candidates)
        return self.mask.sum(0).clamp(min=1).to(torch.float32).unsqueeze(1)


class Decisions(NamedTuple):
    """B decisions as they are kept; what the candidates of each have in common is pooled once.

    Attributes:
        candidates: float32 (B, K, F + 1), as in `Part`.
        around: float32 (B, S), as in `Part`.
        mask: bool (B, K); None where all can be chosen.
    """

    candidates: Tensor
    around: Tensor
    mask: Tensor | None

    @classmethod
    def like(cls, scorer: CandidateScorer, observation: Observation, count: int) -> Decisions:
        """Return arrays for some decisions.

        Args:
            scorer: that is to read them.
            observation: of any number of decisions of the same shape.
            count: how many there are to be.
        """
        _, choices, features = observation["candidates"].shape
        return cls(
            candidates=torch.ones(count, choices, features + 1),
            around=torch.empty(count, scorer.shared_layer.in_features),
            mask=torch.empty(count, choices, dtype=torch.bool),
        )

    @classmethod
    def of(cls, scorer: CandidateScorer, observation: Observation) -> Decisions:
        """Return what is observed.

        Args:
            scorer: that is to read it.
            observation: `candidates` (B, K, F), `context` (B, G) and `action_mask` (B, K).
        """
        return cls.like(scorer, observation, len(observation["candidates"])).write(observation)

    def write(self, observation: Observation) -> Decisions:
        """Write what is observed over these decisions.

        Args:
            observation: of as many decisions, as in `of`.

        Returns:
            These decisions, without mask where all candidates can be chosen.
        """
        assert self.mask is not None, "these are arrays for any decisions"
        candidates, context = observation["candidates"], observation["context"]
        mask, around = observation["action_mask"] != 0, self.around.numpy()
        full, given, features = bool(mask.all()), context.shape[1], candidates.shape[2]
        # by numpy: after a step of the environment no code is in the cache, and that of PyTorch is the longer
        self.candidates.numpy()[:, :, :-1] = candidates
        self.mask.numpy()[:] = mask
        around[:, :given] = context
        pooled = around[:, given:]
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
        return Decisions(self.candidates[first:end], self.around[first:end], mask)

    def whole(self, arrays: Arrays) -> Part:
        """Return all of them to compute with.

        Args:
            arrays: to write the candidates to; what was written there before is lost.
        """
        count, choices, width = self.candidates.shape
        candidates = arrays.of(count * choices, [width] * 2)[0].view(choices, count, width)
        candidates.copy_(self.candidates.transpose(0, 1))
        return Part(candidates, self.around, None if self.mask is None else self.mask.t())

    def split(self, arrays: Arrays) -> Iterator[Part]:
        """Yield them to compute with, in parts of `TOGETHER` at most.

        Args:
            arrays: to write the candidates of one part after the other to.
        """
        for first in range(0, len(self.around), TOGETHER):
            yield self.between(first, first + TOGETHER).whole(arrays)

    def take(self, rows: Tensor, arrays: Arrays) -> Part:
        """Return some of them to compute with.

        Args:
            rows: int64 (b,), which.
            arrays: to write the candidates to; what was written there before is lost.
        """
        _, choices, width = self.candidates.shape
        candidates = arrays.of(len(rows) * choices, [width] * 2)[1].view(len(rows), choices, width)
        torch.index_select(self.candidates, 0, rows, out=candidates)
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Decisions(candidates, self.around.index_select(0, rows), mask).whole(arrays)
