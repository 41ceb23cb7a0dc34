"""PPO: losses and gradients are those of Stable-Baselines3, rollouts are what happened, runs repeat."""

import csv
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from torch.nn.functional import mse_loss

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import PpoConfig, TrainConfig
from ssdgym.agents.training.ppo import (
    Batch,
    Collector,
    Decisions,
    RewardScale,
    advantages_of,
    gumbel,
    losses_of,
    update,
)
from ssdgym.agents.training.train import train
from tests.agents.toy import train_to_a_checkpoint

COUNT = 48
GAMMA, LAMBDA = 0.9, 0.7


def shaken(scorer: CandidateScorer) -> CandidateScorer:
    """The same network with no layer left at zero."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return scorer


# -- advantages and rewards


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


# -- rollouts


def make_collector(toy, steps: int) -> Collector:
    torch.manual_seed(0)
    names = FeatureNames.of(toy)
    scorer = shaken(CandidateScorer(names.candidates, names.context, ScorerConfig(sharpness=1.0)))
    collector = Collector(toy, scorer, steps)
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

    def choose(actions: np.ndarray, observation: Any, infos: dict[str, Any]) -> np.ndarray:
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


# -- losses and updates


@pytest.fixture
def model(maskable_ppo: MaskablePPO) -> MaskablePPO:
    """The algorithm of Stable-Baselines3, with a network whose layers are not zero."""
    shaken(maskable_ppo.policy.scorer)
    return maskable_ppo


@pytest.fixture
def batch(model, toy) -> Batch:
    """Decisions with valid actions, drawn a while ago by a policy a little different."""
    spaces, rng = toy.single_observation_space, np.random.default_rng(0)
    observation = {
        key: rng.random((COUNT, *spaces[key].shape), np.float32)
        for key in ("candidates", "context", "action_mask")
    }
    observation["action_mask"] = (observation["action_mask"] < 0.6).astype(np.int8)
    observation["action_mask"][:, 2] = 1
    decisions = Decisions.of(observation)
    with torch.no_grad():
        scores = model.policy.scorer(*decisions)
    actions = (scores + torch.randn_like(scores)).argmax(-1)
    logs = scores.log_softmax(-1).gather(1, actions.unsqueeze(1)).squeeze(1)
    old = logs + 0.3 * torch.randn(COUNT)
    return Batch(decisions, actions, old, torch.randn(COUNT), torch.randn(COUNT), None)


def test_losses_and_gradients__equal_those_of_stable_baselines3(model: MaskablePPO, batch: Batch) -> None:
    config = PpoConfig(entropy_coefficient=0.02, value_coefficient=0.7)
    scorer, decisions = model.policy.scorer, batch.decisions
    observation = {
        "candidates": decisions.candidates,
        "context": decisions.context,
        "action_mask": decisions.mask,
    }
    # as in MaskablePPO.train
    values, logs, entropy = model.policy.evaluate_actions(observation, batch.actions)
    ratio = (logs - batch.log_probabilities).exp()
    advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    clipped = torch.clamp(ratio, 1 - config.clip_range, 1 + config.clip_range)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
    value_loss = mse_loss(batch.targets, values.flatten())
    total = policy_loss - 0.02 * entropy.mean() + 0.7 * value_loss
    expected = torch.autograd.grad(total, list(scorer.parameters()))

    found = losses_of(scorer, batch.take(torch.arange(COUNT)), config)

    torch.testing.assert_close(found[:4], (total, policy_loss, value_loss, entropy.mean()))
    gradients = torch.autograd.grad(found.total, list(scorer.parameters()))
    torch.testing.assert_close(gradients, expected, rtol=1e-5, atol=1e-5)


def test_losses__away_from_the_frozen_start__cost(model: MaskablePPO, batch: Batch) -> None:
    scorer, config = model.policy.scorer, PpoConfig(start_kl=2.0)
    with torch.no_grad():
        start = scorer(*batch.decisions).log_softmax(1)
        assert losses_of(scorer, batch._replace(prior=start), config).prior_kl.item() == pytest.approx(0.0)
        scorer.linear.weights.add_(1.0)
    free, held = (losses_of(scorer, batch._replace(prior=prior), config) for prior in (None, start))
    assert held.prior_kl > 0.01
    torch.testing.assert_close(held.total, free.total + 2.0 * held.prior_kl)


@pytest.mark.parametrize("pooling", ["mean_max", "none"])
def test_scorer__no_mask__computes_what_it_does_with_a_mask_of_ones(pooling: str) -> None:
    scorer = shaken(CandidateScorer(("a", "b"), ("c",), ScorerConfig(start="none", pooling=pooling)))
    candidates, context, ones = torch.randn(9, 5, 2), torch.randn(9, 1), torch.ones(9, 5)
    for function in (scorer, scorer.value):
        torch.testing.assert_close(function(candidates, context, None), function(candidates, context, ones))


def test_update__makes_good_actions_likelier_and_masked_ones_never_possible(
    model: MaskablePPO, batch: Batch
) -> None:
    scorer, mask = model.policy.scorer, batch.decisions.mask
    assert mask is not None
    good = batch.decisions.candidates[:, :, 0] > 0.5
    chosen = good.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
    batch = batch._replace(advantages=torch.where(chosen, 1.0, -1.0))
    before = scorer(*batch.decisions).softmax(-1)
    optimizer = torch.optim.Adam(scorer.parameters(), lr=0.01)
    config = PpoConfig(epochs=4, batch_decisions=16)
    update(scorer, optimizer, batch, config, torch.Generator().manual_seed(0))
    after = scorer(*batch.decisions).softmax(-1)
    assert after[good].mean() > before[good].mean() + 0.01
    assert (after[~mask] == 0).all()


def test_update__beyond_the_target_kl__ends(model: MaskablePPO, batch: Batch) -> None:
    scorer = model.policy.scorer
    before = {name: value.clone() for name, value in scorer.state_dict().items()}
    optimizer = torch.optim.Adam(scorer.parameters(), lr=0.01)
    config = PpoConfig(batch_decisions=16, target_kl=1e-6)
    update(scorer, optimizer, batch, config, torch.Generator().manual_seed(0))
    torch.testing.assert_close(dict(scorer.state_dict()), before)


# -- runs


def weights_in(folder) -> dict[str, torch.Tensor]:
    return Agent.load(folder / "agent-last.zip").scorer.state_dict()


@pytest.fixture
def config(make_config) -> TrainConfig:
    settings = {"rollout_steps": 32, "batch_decisions": 64, "learning_rate": 0.01, "start_kl": 0.5}
    return make_config("ppo", ppo=settings)


def test_train__ended_and_resumed_with_a_frozen_start__equals_one_that_was_not(config, tmp_path) -> None:
    train(config, tmp_path / "whole", progress=False)
    train_to_a_checkpoint(config, tmp_path / "half")
    train(config, tmp_path / "rest", resume=tmp_path / "half", progress=False)
    whole, rest = weights_in(tmp_path / "whole"), weights_in(tmp_path / "rest")
    assert all(torch.equal(whole[name], rest[name]) for name in whole)


def test_train__held_to_the_start__stays_nearer_to_it(config, make_config, tmp_path) -> None:
    changes = {}
    for name, kl in (("free", 0.0), ("held", 20.0)):
        settings = config.ppo.model_dump() | {"start_kl": kl}
        train(make_config("ppo", ppo=settings), tmp_path / name, progress=False)
        # the payoff of the toy is a feature that the start gives no weight
        changes[name] = weights_in(tmp_path / name)["linear.weights"][[0, 3, 4]].abs().max()
    assert changes["held"] < 0.5 * changes["free"]


def test_train__from_a_clone__counts_its_decisions_and_says_so(tmp_path) -> None:
    prior = {"policy": "greedy", "clone_decisions": 512}
    config = TrainConfig.model_validate(
        {
            "algorithm": "ppo",
            "environment": {"kwargs": {"ftl": {"timing": "none"}, "horizon": 1024}},
            "n_envs": 4,
            "total_decisions": 128,
            "scorer": {"hidden": [8], "start": "none"},
            "prior": prior,
            "ppo": {"rollout_steps": 32, "batch_decisions": 64},
            "evaluation": {"episodes": 2},
        }
    )
    train(config, tmp_path, progress=False)
    with (tmp_path / "evaluations.csv").open() as file:
        rows = [(row["stage"], row["decisions"]) for row in csv.DictReader(file)]
    assert rows == [("untrained", "0"), ("clone", "512"), ("ppo", "640")]
    card = Agent.load(tmp_path / "agent-last.zip").card
    assert "cloning a policy (512 decisions" in card.how_trained
    assert "then PPO (128 decisions" in card.how_trained
