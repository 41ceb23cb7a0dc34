"""What is collected is what happened, across the ends of episodes."""

import torch

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.ppo.rollout import Collector, draw
from ssdgym.agents.scorer import CandidateScorer, ScorerConfig


def make_collector(toy, steps: int) -> Collector:
    torch.manual_seed(0)
    names = FeatureNames.of(toy)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(sharpness=1.0))
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    collector = Collector(toy, scorer, steps)
    collector.begin(7)
    return collector


def test_collect__rewards_belong_to_the_actions(toy) -> None:
    generator = torch.Generator().manual_seed(0)
    rollout = make_collector(toy, 20).collect(lambda scores, infos: draw(scores, generator))
    rows = torch.arange(20 * 8)
    paid = rollout.decisions.candidates[rows, rollout.actions, toy.payoff]
    torch.testing.assert_close(rollout.rewards.flatten(), paid)
    assert rollout.decisions.mask[rows, rollout.actions].all()
    assert (rollout.scores[~rollout.decisions.mask] < -1e8).all()


def test_collect__values_go_on_within_episodes_and_from_their_last_observation(toy) -> None:
    generator = torch.Generator().manual_seed(0)
    rollout = make_collector(toy, 20).collect(lambda scores, infos: draw(scores, generator))
    assert torch.equal(rollout.ends.sum(1).nonzero().flatten(), torch.tensor([15]))  # horizon 16
    going_on = [t for t in range(19) if t != 15]
    assert torch.equal(rollout.next_values[going_on], rollout.values[1:][going_on])
    assert not torch.isclose(rollout.next_values[15], rollout.values[16]).any()
    torch.testing.assert_close(torch.tensor(rollout.returns), rollout.rewards[:16].sum(0), check_dtype=False)


def test_draw__as_often_as_the_softmax_says() -> None:
    scores = torch.tensor([1.0, -1e9, 0.0, 2.0]).repeat(40_000, 1)
    drawn = draw(scores, torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, scores[0].softmax(-1), atol=0.01, rtol=0)
    assert shares[1] == 0
