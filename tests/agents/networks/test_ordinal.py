"""One number and rising thresholds: which action has the highest score."""

from __future__ import annotations

import pytest
import torch

from ssdgym.agents.card import OrdinalConfig
from ssdgym.agents.networks import MASKED_SCORE, OrdinalNetwork
from ssdgym.errors import SsdgymError

FEATURES = ("page_relocated", "page_age")


def test_untrained_network__thresholds_at_whole_numbers__around_0() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=4, ranges=((0, 4),)))
    assert network.thresholds.tolist() == [[-1.0, 0.0, 1.0]]


@pytest.mark.parametrize(("age", "action"), [(-9.0, 0), (-0.5, 1), (0.5, 2), (9.0, 3)])
def test_highest_score__is_that_of_as_many_actions_as_thresholds_lie_below(age: float, action: int) -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=4, ranges=((0, 4),)))
    network.weights.data[0, 1] = 1.0
    scores = network(torch.zeros(1, 4, 1), torch.tensor([[0.0, age]]), torch.ones(1, 4))
    assert scores.argmax().item() == action


def test_heads__choose_within_their_ranges() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=6, ranges=((0, 2), (2, 4))))
    context = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    scores = network(torch.zeros(2, 6, 1), context, torch.ones(2, 6))
    assert (scores[0] > MASKED_SCORE).tolist() == [True, True, False, False, False, False]
    assert (scores[1] > MASKED_SCORE).tolist() == [False, False, True, True, True, True]


def test_masked_actions__are_never_chosen() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=4, ranges=((0, 4),)))
    mask = torch.tensor([[1, 0, 0, 0]])
    assert network(torch.zeros(1, 4, 1), torch.tensor([[0.0, 9.0]]), mask).argmax().item() == 0


def test_scores__have_gradients__in_all_weights() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(hidden=(4,), actions=6))
    scores = network(torch.zeros(2, 6, 1), torch.tensor([[0.0, 1.0], [1.0, 2.0]]), torch.ones(2, 6))
    torch.log_softmax(scores, -1)[:, 2].sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_two_heads__without_the_feature_that_tells_them_apart__are_refused() -> None:
    with pytest.raises(SsdgymError, match="two heads need the feature page_relocated"):
        OrdinalNetwork(("page_age",), OrdinalConfig())


def test_range__beyond_the_actions__is_refused() -> None:
    with pytest.raises(ValueError, match="not within 4 actions"):
        OrdinalConfig(actions=4, ranges=((0, 6),))
