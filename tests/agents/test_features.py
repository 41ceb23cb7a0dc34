"""An agent and an environment know each other by the names of the features."""

import gymnasium as gym
import pytest

from ssdgym.agents.features import FeatureNames
from ssdgym.envs.features import CANDIDATE_FEATURES, CONTEXT_FEATURES
from ssdgym.errors import SsdgymError


def test_feature_names__of_an_environment__are_the_documented_ones(toy) -> None:
    names = FeatureNames.of(toy)
    assert names.candidates == tuple(feature.name for feature in CANDIDATE_FEATURES)
    assert names.context == tuple(feature.name for feature in CONTEXT_FEATURES)


def test_feature_names__environment_without_candidates__refused() -> None:
    with pytest.raises(SsdgymError, match="its observations have no candidates"):
        FeatureNames.of(gym.make("CartPole-v1"))


def test_feature_names__environment_of_another_width__refused(toy) -> None:
    toy.single_observation_space["context"] = gym.spaces.Box(-1, 1, (77,))
    with pytest.raises(SsdgymError, match="77 context features, but ssdgym names"):
        FeatureNames.of(toy)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (FeatureNames(("a", "x"), ("c",)), r"candidates features .* number 1 \('b', not 'x'\)"),
        (FeatureNames(("a", "b"), ("c", "d")), r"context features .* their number \(1, not 2\)"),
    ],
)
def test_require__different_names__says_which(other: FeatureNames, difference: str) -> None:
    names = FeatureNames(("a", "b"), ("c",))
    names.require(names, "agent.zip")
    with pytest.raises(SsdgymError, match=f"agent.zip: its {difference}"):
        names.require(other, "agent.zip")
