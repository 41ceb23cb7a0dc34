"""Heuristics that an environment proposes, and how they play it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.playing.agents import heuristic
from ssdgym.errors import SsdgymError


def environment(*proposers: str) -> Any:
    return SimpleNamespace(metadata={"proposers": proposers})


def test_heuristic__takes_its_own_pick() -> None:
    behave = heuristic(environment("greedy", "fifo"), "fifo")
    info = {"proposed": np.array([[3, 5]])}
    assert behave({}, info, np.random.default_rng(0)) == 5


def test_heuristic__without_a_pick__is_refused() -> None:
    behave = heuristic(environment("greedy"), "greedy")
    with pytest.raises(SsdgymError, match="policy greedy picks none of the candidates"):
        behave({}, {"proposed": np.array([[-1]])}, np.random.default_rng(0))


def test_heuristic__of_an_environment_without_proposers__is_refused() -> None:
    with pytest.raises(SsdgymError, match="no proposers to play; give an agent"):
        heuristic(environment(), "greedy")
