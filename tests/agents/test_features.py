"""An agent and an environment know each other by the names of the features."""

import gymnasium as gym
import pytest

from ssdgym.agents.features import FeatureNames
from ssdgym.envs import EraseVictimEnv, EraseVictimVectorEnv
from ssdgym.errors import SsdgymError


@pytest.mark.parametrize(
    "make",
    [
        lambda: EraseVictimEnv(device="tiny"),
        lambda: EraseVictimVectorEnv(2, device="tiny"),
        lambda: gym.make("ssdgym/EraseVictim-v0", device="tiny"),
    ],
    ids=["single", "vector", "wrapped"],
)
def test_feature_names__of_an_environment__are_the_documented_ones(make) -> None:
    env = make()
    names = FeatureNames.of(env)
    features = env.unwrapped.episodes.decision.features
    assert names.candidates == tuple(feature.name for feature in features.candidates)
    assert names.context == tuple(feature.name for feature in features.context)
    assert {"log_benefit", "proposed_by_greedy"} <= set(names.candidates)


def test_feature_names__environment_without_candidates__refused() -> None:
    with pytest.raises(SsdgymError, match="its observations have no candidates"):
        FeatureNames.of(gym.make("CartPole-v1"))


def test_feature_names__environment_of_another_width__refused(toy) -> None:
    toy.single_observation_space["context"] = gym.spaces.Box(-1, 1, (77,))
    with pytest.raises(SsdgymError, match="77 context features, but names 5 and 2"):
        FeatureNames.of(toy)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (FeatureNames(("a", "x"), ("c",)), r"candidates features .* number 1 \('b', not 'x'\)"),
        (FeatureNames(("a",), ("c",)), r"candidates features .* their number \(2, not 1\)"),
        (FeatureNames(("a", "b"), ("d", "e")), r"context features .* number 0 \('c', not 'd'\)"),
    ],
)
def test_locate__a_name_is_missing__says_which(other: FeatureNames, difference: str) -> None:
    with pytest.raises(SsdgymError, match=f"agent.zip: its {difference}"):
        FeatureNames(("a", "b"), ("c",)).locate(other, "agent.zip")


def test_locate__another_order_and_more_of_them__found_by_name() -> None:
    columns = FeatureNames(("a", "b"), ("c",)).locate(FeatureNames(("b", "x", "a"), ("d", "c")), "agent.zip")
    assert (columns.candidates, columns.context, columns.widths) == ((2, 0), (1,), (3, 2))
