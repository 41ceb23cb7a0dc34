"""Write an agent as one C header, for simulators and firmware without Python and PyTorch.

The header needs only the C library, keeps no state, allocates nothing, and computes in single precision.
`c_header.h.j2` is its template.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from torch import Tensor, nn

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import cost_of
from ssdgym.agents.networks import OrdinalNetwork
from ssdgym.errors import SsdgymError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PER_LINE = 6


def c_header(agent: Agent, name: str = "agent") -> str:
    """Return an agent as the text of a C header (C99).

    The header of a network that scores candidates has the functions `NAME_scores` and `NAME_choose`. The
    header of an ordinal network has `NAME_number` and `NAME_act`. Sums are computed in another order than in
    PyTorch, so results differ by rounding only.

    Args:
        agent: a trained agent.
        name: prefix of the functions and arrays.

    Raises:
        SsdgymError: `name` is not a C identifier, a weight is not finite, or there is no context feature.
    """
    _check(agent, name)
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["comment"] = lambda text: text.replace("*/", "* /")
    environment.filters["string_literal"] = lambda text: text.replace("\\", r"\\").replace('"', r"\"")
    weights = [_array(f"{name}_{part}", values) for part, values in _weights(agent.scorer).items()]
    return environment.get_template("c_header.h.j2").render(
        name=name, card=agent.card, cost=cost_of(agent.card), network=agent.scorer, weights="\n".join(weights)
    )


def _check(agent: Agent, name: str) -> None:
    """Raise if `name` is not a C identifier, weights are not finite, or the agent has no context features."""
    if not _NAME.fullmatch(name):
        raise SsdgymError(
            f"name = {name!r} is no name in C: use letters, digits and _, and no digit in front."
        )
    for weights, tensor in agent.scorer.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise SsdgymError(f"the agent's {weights} holds what is no finite number; train it again.")
    if not agent.card.context_features:
        raise SsdgymError("the agent sees no context, for which C has no array; train one that does.")


def _weights(network: Any) -> dict[str, Tensor]:
    """Return the weights that a decision needs, by their names in the header without the prefix."""
    layers = [layer for layer in network.body if isinstance(layer, nn.Linear)]
    if isinstance(network, OrdinalNetwork):
        parts = ("centre", "scale", "weights", "bias", "thresholds")
        found = {name: getattr(network, name) for name in parts}
        names = [*(f"body{number}" for number in range(len(layers) - 1)), "last"]
        named = dict(zip(names, layers, strict=False))  # without hidden layers, `layers` is empty
    else:
        found = {"linear": network.linear.log_sharpness.exp() * network.linear.weights}
        named = {"candidate": network.candidate_layer, "shared": network.shared_layer}
        named |= {f"body{number}": layer for number, layer in enumerate(layers, 1)}
        named["score"] = network.score_layer
    for name, layer in named.items():
        found |= {name: layer.weight, f"{name}_bias": layer.bias}
    return found


def _array(name: str, values: Tensor) -> str:
    """Return the C definition of an array of one or two dimensions, in single precision."""
    numbers = values.detach().cpu().numpy().astype(np.float32)
    shape = "".join(f"[{length}]" for length in numbers.shape)
    return f"static const float {name}{shape} = {_initialiser(numbers)};"


def _initialiser(numbers: np.ndarray) -> str:
    if numbers.ndim == 2:
        return "{" + ",\n    ".join(_initialiser(row) for row in numbers) + "}"
    texts = [_number(number) for number in numbers]
    lines = [", ".join(texts[first : first + _PER_LINE]) for first in range(0, len(texts), _PER_LINE)]
    return "{" + ",\n     ".join(lines) + "}"


def _number(number: np.float32) -> str:
    """Return a number as a C constant of nine digits, which identify a single-precision number."""
    text = f"{float(number):.9g}"
    return f"{text}f" if set(text) & set(".en") else f"{text}.0f"
