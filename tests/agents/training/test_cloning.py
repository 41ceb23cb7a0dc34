"""A network learns to choose what a policy would."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.cloning import clone
from ssdgym.agents.training.config import FIRST_PROPOSER, PriorConfig, TrainConfig
from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError


@pytest.fixture
def env():
    """Eight demo devices."""
    made = gym.make_vec(
        "ssdgym/EraseVictim-v0",
        num_envs=8,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        ftl={"timing": "none"},
        horizon=2048,
    )
    yield made
    made.close()


@pytest.mark.parametrize("policy", ["cost_benefit", "greedy"])
def test_clone__small_device__agrees_in_nine_of_ten_decisions(env, policy: str) -> None:
    torch.manual_seed(0)
    names = FeatureNames.of(env)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(start="none", sharpness=1.0))
    reported: list[int] = []
    prior = PriorConfig(policy=policy, clone_decisions=16_384)
    decisions, agreement = clone(scorer, env, prior, 3, reported.append)
    assert agreement > 0.9
    assert decisions == reported[-1] == 16_384


def test_clone__is_drawn_from_with_the_confidence_asked_for(env) -> None:
    torch.manual_seed(0)
    names = FeatureNames.of(env)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(start="none", sharpness=1.0))
    clone(
        scorer,
        env,
        PriorConfig(policy="cost_benefit", clone_decisions=8192, clone_confidence=0.5),
        3,
    )
    observation, info = env.reset(seed=5)
    sure = []
    for _ in range(200):
        parts = (torch.from_numpy(observation[key]) for key in ("candidates", "context", "action_mask"))
        sure.append(scorer(*parts).softmax(-1).amax(-1).mean().item())
        observation, _, _, _, info = env.step(info["proposed"][:, 1])  # cost-benefit
    assert np.mean(sure) == pytest.approx(0.5, abs=0.1)


def test_clone__first_proposer_of_victims_and_streams__is_followed_in_both() -> None:
    torch.manual_seed(0)
    env = gym.make_vec(
        "ssdgym/JointGC-v0",
        num_envs=8,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        ftl={"timing": "none", "placement": "fadac(inclusive=1)"},
        proposers=["cost_benefit", "fifo"],
        streams=6,
        horizon=2048,
    )
    names = FeatureNames.of(env)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(start="none", sharpness=1.0))
    clone(scorer, env, PriorConfig(policy=FIRST_PROPOSER, clone_decisions=16_384), 3)
    observation, info = env.reset(seed=5)
    erases, placed = [], []
    for _ in range(400):
        parts = (torch.from_numpy(observation[key]) for key in ("candidates", "context", "action_mask"))
        choices = scorer(*parts).argmax(-1).numpy()
        cost_benefit, _, placement = info["proposed"].T
        assert ((cost_benefit < 0) != (placement < 0)).all()
        erases += (choices == cost_benefit)[cost_benefit >= 0].tolist()
        placed += (choices == placement)[placement >= 0].tolist()
        observation, _, _, _, info = env.step(choices)
    assert min(len(erases), len(placed)) > 100
    assert min(np.mean(erases), np.mean(placed)) > 0.9
    env.close()


def test_clone__rule_over_features__agrees_in_nine_of_ten_decisions(env) -> None:
    torch.manual_seed(0)
    names = FeatureNames.of(env)
    scorer = CandidateScorer(names.candidates, names.context, ScorerConfig(start="none", sharpness=1.0))
    prior = PriorConfig(policy="stump(feature=log_age)", clone_decisions=16_384)
    assert clone(scorer, env, prior, 3)[1] > 0.9


def test_clone__policy_that_is_not_proposed__says_who_is(env) -> None:
    scorer = CandidateScorer(("a",), ("b",), ScorerConfig(start="none"))
    with pytest.raises(
        SsdgymError, match="'dac' cannot be cloned.*proposes greedy, cost_benefit.*first_proposer"
    ):
        clone(scorer, env, PriorConfig(policy="dac", clone_decisions=1), 0)


def test_prior__clone_decisions_without_policy__refused() -> None:
    with pytest.raises(SsdgymError, match="needs both a policy and clone_decisions"):
        load_config(TrainConfig, {"prior": {"clone_decisions": 8}}, "training")
