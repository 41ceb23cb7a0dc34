"""Texts of C: names, comments, strings, and arrays of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import torch

from ssdgym.agents.agent import Agent
from ssdgym.errors import SsdgymError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PER_LINE = 6


def check(agent: Agent, name: str) -> None:
    """Raise if an agent cannot be written under a name.

    Args:
        agent: the agent.
        name: what its functions and arrays begin with.

    Raises:
        SsdgymError: the name is none in C, C has no constants for the weights or no arrays for the inputs.
    """
    if not _NAME.fullmatch(name):
        raise SsdgymError(
            f"name = {name!r} is no name in C: use letters, digits and _, and no digit in front."
        )
    for weights, tensor in agent.scorer.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise SsdgymError(f"the agent's {weights} holds what is no finite number; train it again.")
    if not agent.card.context_features:
        raise SsdgymError("the agent sees no context, for which C has no array; train one that does.")


def of_comment(text: str) -> str:
    """Return a text that cannot end the comment that it stands in."""
    return text.replace("*/", "* /")


def listed(names: Iterable[str]) -> str:
    """Return names as numbered lines of a comment."""
    return "\n".join(f" *   {number}: {of_comment(feature)}" for number, feature in enumerate(names))


def strings(names: Iterable[str]) -> str:
    """Return the initialiser of an array of strings, a name per line of a macro."""
    return "{" + ", ".join(f'\\\n    "{_of_string(name)}"' for name in names) + "}"


def _of_string(text: str) -> str:
    """Return a text as it stands between double quotes in C."""
    return text.replace("\\", r"\\").replace('"', r"\"")


def array(name: str, values: torch.Tensor) -> str:
    """Return the definition of an array of one or two dimensions; every number is exact.

    Args:
        name: of the array.
        values: its numbers.
    """
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
    """Return a constant that is read as the same number: nine digits tell all of single precision apart."""
    text = f"{float(number):.9g}"
    return f"{text}f" if set(text) & set(".en") else f"{text}.0f"
