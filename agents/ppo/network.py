"""A scorer as PPO computes it: scores, values, and one vector of parameters with its gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from ssdgym.agents.ppo.actor import Actor
from ssdgym.agents.ppo.arrays import Arrays
from ssdgym.agents.ppo.critic import Critic
from ssdgym.agents.ppo.decisions import Part
from ssdgym.agents.scorer import CandidateScorer


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
