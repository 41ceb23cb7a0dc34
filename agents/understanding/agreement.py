"""Agreement: in which share of its decisions an agent chooses what a heuristic would choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdgym.agents.understanding.recording import Decisions
from ssdgym.errors import SsdgymError


def agreement(decisions: Decisions, proposers: Sequence[str]) -> dict[str, float]:
    """Return the share of decisions in which the agent's choice is the pick of each proposer.

    The states are those that the agent itself brings about, not those of the heuristics.

    Args:
        decisions: that it took.
        proposers: names of the environment's proposers, in their order.

    Returns:
        The shares by name, NaN for one that never picked; last, under `"any of them"`, the share of
        decisions in which the choice is the pick of at least one, and, under `"chance"`, the mean share that
        one of the valid candidates, drawn uniformly, has of being a given one.

    Raises:
        SsdgymError: the environment had another number of proposers.
    """
    if len(proposers) != decisions.proposed.shape[1]:
        raise SsdgymError(
            f"proposers: {len(proposers)} names for {decisions.proposed.shape[1]} proposers; give the "
            "environment's own."
        )
    same = decisions.proposed == decisions.choices[:, np.newaxis]
    picked = (decisions.proposed >= 0).sum(axis=0)
    shares = np.divide(same.sum(axis=0), picked, out=np.full(len(proposers), np.nan), where=picked > 0)
    found = {name: float(share) for name, share in zip(proposers, shares, strict=True)}
    found["any of them"] = float(same.any(axis=1).mean())
    found["chance"] = float((1 / decisions.mask.sum(axis=1)).mean())
    return found
