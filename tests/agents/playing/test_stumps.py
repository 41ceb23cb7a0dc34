"""Stumps: one or two features, one threshold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.playing.files import source_of
from ssdgym.errors import SsdgymError

FEATURES = {"candidates": ("benefit", "age"), "context": ("room", "idle")}
#: Two environments with three candidates, of which the first environment's last is not valid.
CANDIDATES = np.array([[[1, 5], [3, 0], [9, 9]], [[2, 2], [2, 3], [0, 8]]], np.float32)
CONTEXT = np.array([[0.5, 2.0], [-0.5, 4.0]], np.float32)
MASK = np.array([[True, True, False], [True, True, True]])


def chosen(text: str) -> list[int]:
    env: Any = SimpleNamespace(metadata={"features": FEATURES})
    observation = {"candidates": CANDIDATES, "context": CONTEXT, "action_mask": MASK.astype(np.int8)}
    actions = source_of(text).build(env).act(observation, MASK, np.random.default_rng(0))
    assert MASK[[0, 1], actions].all()
    return actions.tolist()


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("stump(feature=benefit)", [1, 0]),  # the largest that is valid, the first of equals
        ("stump(feature=-benefit)", [0, 2]),
        ("stump(feature=benefit, cut=2)", [1, 0]),  # 3 is above 2, and 2 is not
        ("stump(feature=room, cut=0)", [1, 0]),  # above: the last valid one
        ("stump(feature=-room, cut=0)", [0, 2]),
        ("stump(feature=benefit, second=age, weight=0.5)", [0, 2]),  # 3.5 and 3; 3, 3.5 and 4
        ("stump(feature=-room, second=idle, weight=0.5, cut=2)", [0, 2]),  # 0.5 and 2.5
        ("stump(feature=benefit, second=idle, weight=-1, cut=0)", [1, 0]),  # 1 above 0; -2 not
    ],
)
def test_stump__takes_the_largest_above_its_cut(text: str, actions: list[int]) -> None:
    assert chosen(text) == actions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stump(feature=benefits)", "observes no feature benefits; did you mean benefit?"),
        ("stump(feature=room, cut=high)", "cut and weight are numbers, not 'high'"),
        ("stump(cut=1)", "cannot be called so: missing a required argument: 'feature'"),
        ("stump(feature=room", "is not of the form name"),
        ("stump(feature=room, second=room2, cut=0)", "observes no feature room2"),
    ],
)
def test_wrong_stump__is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(SsdgymError, match=said) as error:
        chosen(text)
    assert "\n" not in str(error.value)


def test_stump__is_no_learned_agent_and_executes_nothing() -> None:
    source = source_of("stump(feature=room, cut=0)")
    assert (source.learns, source.executes, source.label) == (False, "", "stump(feature=room, cut=0)")
