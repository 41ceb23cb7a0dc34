"""Metrics of an ended episode are computed when they are read, and are then what they would have been."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from ssdgym.unread import Unread

ENTRIES = {"b": 1, "a": {"c": 2.0}}


def _unread(reads: list[int] | None = None) -> Unread:
    def read() -> dict[str, Any]:
        if reads is not None:
            reads.append(1)
        return dict(ENTRIES)

    return Unread(read)


@pytest.mark.parametrize(
    "use",
    [
        dict,
        copy.copy,
        copy.deepcopy,
        lambda made: made.copy(),
        lambda made: {**made},
        lambda made: {} | made,
        lambda made: made | {},
        lambda made: pickle.loads(pickle.dumps(made)),
        lambda made: json.loads(json.dumps(made)),
        lambda made: (lambda **entries: entries)(**made),
        lambda made: dict(made.items()),
        lambda made: dict(zip(made.keys(), made.values(), strict=True)),
        lambda made: {name: made[name] for name in made},
        lambda made: [{}.update(made), dict(made)][1],
    ],
)
def test_unread__however_it_is_copied__is_a_plain_dictionary(use: Any) -> None:
    found = use(_unread())
    assert type(found) is dict and found == ENTRIES


def test_unread__is_read_once_and_equals_a_dictionary() -> None:
    reads: list[int] = []
    made = _unread(reads)
    assert not reads
    assert made == ENTRIES and made == ENTRIES and len(made) == 2 and "b" in made and bool(made)
    assert made.get("z", 5) == 5 and list(made) == ["b", "a"] and repr(made) == repr(ENTRIES)
    made["z"] = 6
    assert made.pop("z") == 6 and made.setdefault("b", 9) == 1 and reads == [1]


def _ended(**arguments: Any) -> tuple[gym.Env, dict[str, Any]]:
    env = gym.make("ssdgym/EraseVictim-v0", horizon=600, disable_env_checker=True, **arguments)
    observation, _ = env.reset(seed=1)
    over = False
    while not over:
        observation, _, died, cut, info = env.step(int(observation["action_mask"].argmax()))
        over = died or cut
    return env, info


@pytest.mark.parametrize("timing", ["none", "event"])
def test_last_metrics__read_after_the_next_episode__are_those_at_the_end(timing: str) -> None:
    env, info = _ended(ftl={"timing": timing})
    expected = env.unwrapped.metrics()
    env.reset()
    assert info["metrics"] == expected != env.unwrapped.metrics()


def test_last_metrics__of_many_episodes__are_read_before_they_take_much_memory() -> None:
    env, info = _ended(ftl={"timing": "none"})
    kept = [info["metrics"]]
    for _ in range(6):
        kept.append(env.unwrapped.episodes.last_metrics(0))
    waiting = [metrics._read is not None for metrics in kept]
    assert waiting == [False] * 3 + [True] * 4


@pytest.mark.parametrize("mapping", ["page", "subpage", "block"])
def test_rows__a_device_saved_and_restored__is_the_same(mapping: str) -> None:
    name = {"page": "EraseVictim", "subpage": "SubpageRegion", "block": "MergePlan"}[mapping]
    envs = gym.make_vec(f"ssdgym/{name}-v0", num_envs=2, vectorization_mode="vector_entry_point", horizon=300)
    observation, _ = envs.reset(seed=3)
    batch = envs.unwrapped.episodes.batches[0]
    row = batch._rows.save(1)
    before = [array[1].tobytes() for array in batch.state]
    other = [array[0].tobytes() for array in batch.state]
    metrics = envs.unwrapped.envs[1].metrics()
    later = batch.measure(1)
    envs.step(observation["action_mask"].argmax(axis=1))
    assert before != [array[1].tobytes() for array in batch.state]
    assert later() == metrics
    now = [array[0].tobytes() for array in batch.state]
    batch._rows.restore(1, row)
    assert before == [array[1].tobytes() for array in batch.state] and other != now
    assert now == [array[0].tobytes() for array in batch.state]
    assert all(np.array_equal(a, b[1:2]) for a, b in zip(batch._rows.state_of(row), batch.state, strict=True))
