"""What is collected is what happened, across the ends of episodes."""

from typing import Any

import numpy as np
import torch

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.ppo_network import Network
from ssdgym.agents.training.ppo_rollout import Collector, gumbel


def make_collector(toy, steps: int) -> Collector:
    torch.manual_seed(0)
    names = FeatureNames.of(toy)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(sharpness=1.0))
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    collector = Collector(toy, Network(scorer), steps)
    collector.begin(7)
    return collector


def test_collect__rewards_belong_to_the_actions(toy) -> None:
    generator = torch.Generator().manual_seed(0)
    rollout = make_collector(toy, 20).collect(generator)
    rows = torch.arange(20 * 8)
    paid = rollout.decisions.candidates[rows, rollout.actions.flatten(), toy.payoff]
    torch.testing.assert_close(rollout.rewards.flatten(), paid)
    assert rollout.decisions.mask is not None
    assert rollout.decisions.mask[rows, rollout.actions.flatten()].all()
    assert (rollout.scores[~rollout.decisions.mask] < -1e8).all()


def test_collect__values_go_on_within_episodes_and_from_their_last_observation(toy) -> None:
    generator = torch.Generator().manual_seed(0)
    rollout = make_collector(toy, 20).collect(generator)
    assert torch.equal(rollout.ends.sum(1).nonzero().flatten(), torch.tensor([15]))  # horizon 16
    going_on = [t for t in range(19) if t != 15]
    assert torch.equal(rollout.next_values[going_on], rollout.values[1:][going_on])
    assert not torch.isclose(rollout.next_values[15], rollout.values[16]).any()
    torch.testing.assert_close(torch.tensor(rollout.returns), rollout.rewards[:16].sum(0), check_dtype=False)


def test_collect__chooser__decides_and_sees_what_was_drawn(toy) -> None:
    drawn: list[np.ndarray] = []

    def choose(actions: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
        drawn.append(actions)
        return toy.action_masks().argmax(1)

    rollout = make_collector(toy, 20).collect(torch.Generator().manual_seed(0), choose)
    mask = rollout.decisions.mask
    assert mask is not None
    assert torch.equal(rollout.actions.flatten(), mask.to(torch.int8).argmax(1))
    assert mask[torch.arange(20 * 8), torch.from_numpy(np.concatenate(drawn))].all()


def test_collect__same_seed__same_bits(toy) -> None:
    first, second = (make_collector(toy, 20).collect(torch.Generator().manual_seed(5)) for _ in range(2))
    for name in ("scores", "actions", "rewards", "values", "next_values"):
        assert torch.equal(getattr(first, name), getattr(second, name)), name


def test_gumbel__largest_of_scores_plus_noise__as_often_as_the_softmax_says() -> None:
    scores = torch.tensor([1.0, -1e9, 0.0, 2.0]).repeat(40_000, 1)
    drawn = (scores + gumbel(scores.shape, torch.Generator().manual_seed(0))).argmax(1)
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, scores[0].softmax(-1), atol=0.01, rtol=0)
    assert shares[1] == 0
