"""Advantages are those of the definition, and rewards are centred and scaled by what was seen."""

import pytest
import torch

from ssdgym.agents.training.ppo_rollout import RewardScale, advantages_of

GAMMA, LAMBDA = 0.9, 0.7


def by_definition(rewards, values, next_values, ends) -> torch.Tensor:
    """Sum the discounted temporal differences of every decision to the end of its episode."""
    steps, number = rewards.shape
    advantages = torch.zeros(steps, number)
    for i in range(number):
        for t in range(steps):
            weight = 1.0
            for k in range(t, steps):
                advantages[t, i] += weight * (rewards[k, i] + GAMMA * next_values[k, i] - values[k, i])
                if ends[k, i]:
                    break
                weight *= GAMMA * LAMBDA
    return advantages


def test_advantages__equal_the_sums_of_the_definition() -> None:
    torch.manual_seed(0)
    rewards, values, next_values = torch.randn(3, 12, 4)
    ends = (torch.rand(12, 4) < 0.3).float()
    found = advantages_of(rewards, values, next_values, ends, GAMMA, LAMBDA)
    torch.testing.assert_close(found, by_definition(rewards, values, next_values, ends))


def test_reward_scale__follows_what_rewards_are_like() -> None:
    scale = RewardScale()
    scale.update(torch.tensor([2.0, 4.0]))
    assert (scale.mean, scale.deviation) == (3.0, pytest.approx(2**0.5))
    torch.testing.assert_close(scale.apply(torch.tensor([3.0, 4.0])), torch.tensor([0.0, 0.5**0.5]))
    for _ in range(200):
        scale.update(torch.tensor([9.0, 10.0, 11.0]))
    assert (scale.mean, scale.deviation) == (pytest.approx(10.0), pytest.approx(1.0))


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_reward_scale__of_returns__divides_by_how_these_vary(gamma: float) -> None:
    rewards = torch.randn(64, 8, generator=torch.Generator().manual_seed(3))
    scale = RewardScale(gamma=gamma)
    scale.update(rewards)
    returns, before = [], torch.zeros(8)
    for row in rewards - rewards.mean():
        before = row + gamma * before
        returns.append(before)
    assert scale.deviation == pytest.approx(torch.stack(returns).std().item())
    assert scale.apply(rewards).mean().item() == pytest.approx(0.0, abs=1e-6)
