"""A feature that an agent looks at is important, one that it does not is not."""

from __future__ import annotations

import numpy as np

from ssdgym.agents.playing.random_action import RandomAction
from ssdgym.agents.understanding.importance import permutation_importance
from ssdgym.envs.sb3 import SB3VecEnv
from tests.agents.understanding.agents import TakesMost


class TakesByContext:
    """Takes the first or the last valid candidate, as an entry of the context says."""

    def act(self, observation, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        last = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        return np.where(observation["context"][:, 0] > 0, mask.argmax(axis=1), last)


def test_importance__only_of_what_the_agent_looks_at(toy) -> None:
    found = permutation_importance(TakesMost(toy.payoff), SB3VecEnv(toy), 5, metric="last_reward")
    names = toy.metadata["features"]
    assert list(found) == [*names["candidates"], *names["context"]]
    changed = {name for name, values in found.items() if values.any()}
    assert changed == {names["candidates"][toy.payoff]}
    assert all(values.shape == (toy.num_envs,) for values in found.values())


def test_importance__context__is_redrawn(toy) -> None:
    found = permutation_importance(TakesByContext(), SB3VecEnv(toy), 5, metric="last_reward")
    assert {name for name, values in found.items() if values.any()} == {
        toy.metadata["features"]["context"][0]
    }


def test_importance__some_features__only_these_and_the_same_again(toy) -> None:
    name = toy.metadata["features"]["candidates"][toy.payoff]
    done: list[str] = []
    first, again = (
        permutation_importance(
            TakesMost(toy.payoff), SB3VecEnv(toy), 5, "last_reward", [name], report=done.append
        )
        for _ in range(2)
    )
    assert list(first) == [name] and done == [name, name]
    np.testing.assert_array_equal(first[name], again[name])


def test_importance__an_agent_that_draws_and_looks_at_nothing__none(toy) -> None:
    found = permutation_importance(RandomAction(), SB3VecEnv(toy), 5, metric="last_reward")
    assert not any(values.any() for values in found.values())
