"""The weights of a network as one vector, and those that are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from ssdgym.agents.agent import network_of
from ssdgym.agents.card import AgentCard, InputConfig
from ssdgym.agents.networks.scorer import CandidateScorer, ScaleNetwork
from ssdgym.errors import SsdgymError

#: Weights that only gradients need, or that change no choice.
_WITHOUT_EFFECT = ("value_", "linear.log_sharpness")


class WeightVectors:
    """Vectors of searched weights, and the networks that they are.

    Args:
        card: of the agent.
        inputs: what each of its features is to the network, by name.
        fixed: weights that are not searched, by name.
        seed: draws the hidden layers.

    Raises:
        SsdgymError: `fixed` names no weights, or leaves none to search.
    """

    def __init__(
        self, card: AgentCard, inputs: Mapping[str, InputConfig], fixed: Sequence[str], seed: int
    ) -> None:
        self.card = card
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = network_of(card)
        _begin(self.network, card, inputs)
        named = dict(self.network.named_parameters())
        for name in fixed:
            if name not in named:
                raise SsdgymError(f"evolution: fixed: {name} is no weight; there are {', '.join(named)}.")
        self._searched = [
            name for name in named if not name.startswith(_WITHOUT_EFFECT) and name not in fixed
        ]
        if not self._searched:
            raise SsdgymError("evolution: fixed: names all weights; leave one to search.")

    @property
    def start(self) -> np.ndarray:
        """The vector that the network has at the start, float64."""
        named = dict(self.network.named_parameters())
        return np.concatenate([named[name].detach().numpy().ravel() for name in self._searched]).astype(float)

    def weights(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Return all weights by name, those that are searched from a vector.

        Args:
            vector: as long as `start`.
        """
        found = {name: tensor.detach().numpy() for name, tensor in self.network.state_dict().items()}
        begin = 0
        for name in self._searched:
            shape, size = found[name].shape, found[name].size
            found[name] = vector[begin : begin + size].reshape(shape).astype(np.float32)
            begin += size
        return found

    def network_with(self, vector: np.ndarray) -> nn.Module:
        """Return a network with the weights of a vector.

        Args:
            vector: as long as `start`.
        """
        network = network_of(self.card)
        weights = self.weights(vector)
        network.load_state_dict({name: torch.as_tensor(np.array(weight)) for name, weight in weights.items()})
        return network


def _begin(network: nn.Module, card: AgentCard, inputs: Mapping[str, InputConfig]) -> None:
    """Set the weights that the configuration says."""
    if isinstance(network, ScaleNetwork):
        context = [inputs[name] for name in card.context_features]
        network.centre.copy_(torch.tensor([one.centre for one in context]))
        network.scale.copy_(torch.tensor([1.0 / one.spread for one in context]))
        network.weights.data.copy_(_starts(context, network.config.heads))
    elif isinstance(network, CandidateScorer):
        candidates = [inputs[name] for name in card.candidate_features]
        if any(one.start for one in candidates):
            network.linear.weights.data.copy_(_starts(candidates, 1)[0])
            network.linear.log_sharpness.data.zero_()


def _starts(inputs: Sequence[InputConfig], heads: int) -> torch.Tensor:
    """Return the weights of the linear part at the start, (heads, features)."""
    return torch.tensor([one.start or (0.0,) * heads for one in inputs]).T.contiguous()
