"""Actions outside the mask: refused, replaced, or replaced at a cost; options of a reset."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import ssdgym  # noqa: F401  registers the environments
from ssdgym.errors import SsdgymError

ENVIRONMENT = "ssdgym/EraseVictim-v0"
SMALL: dict[str, Any] = {"device": "tiny", "candidates": "all", "horizon": 256, "ftl": {"timing": "none"}}


def rewards(invalid: str, actions: list[int], replaced: bool) -> list[float]:
    """Return the rewards of actions, or of the next valid ones, which are chosen here."""
    env = gymnasium.make(ENVIRONMENT, **SMALL, invalid=invalid)
    observation, _ = env.reset(seed=3)
    found = []
    for action in actions:
        valid = np.flatnonzero(observation["action_mask"])
        taken = int(valid[np.searchsorted(valid, action) % len(valid)]) if replaced else action
        observation, reward, *_ = env.step(taken)
        found.append(float(reward))
    return found


def test_invalid__is_refused_by_default_with_what_to_do() -> None:
    env = gymnasium.make(ENVIRONMENT, **SMALL)
    observation, _ = env.reset(seed=3)
    wrong = int(np.flatnonzero(observation["action_mask"] == 0)[0])
    with pytest.raises(SsdgymError, match=r"\(MaskablePPO\), or set invalid to replace"):
        env.step(wrong)


def test_invalid__replaced__is_the_next_candidate_that_may_be_chosen() -> None:
    actions = np.random.default_rng(1).integers(0, 64, 30).tolist()
    assert rewards("replace", actions, replaced=False) == rewards("error", actions, replaced=True)


def test_invalid__replaced__a_picture_shows_what_was_taken() -> None:
    env = gymnasium.make(ENVIRONMENT, **SMALL, invalid="replace", render_mode="ansi")
    observation, _ = env.reset(seed=3)
    first = int(np.flatnonzero(observation["action_mask"])[0])
    offered = env.unwrapped.episodes.view.sets[0, first].copy()
    env.step(10**6)
    assert (env.unwrapped.scene().chosen == offered).all()


def test_invalid__penalty__costs_1_beside() -> None:
    actions = [0] * 20
    apart = np.array(rewards("error", actions, replaced=True)) - rewards("penalty", actions, replaced=False)
    assert set(apart.round(9)) <= {0.0, 1.0} and apart.sum() > 0


def test_invalid__in_a_vector__as_in_single_environments() -> None:
    native = gymnasium.make_vec(
        ENVIRONMENT, 2, vectorization_mode="vector_entry_point", **SMALL, invalid="penalty"
    )
    native.reset(seed=3)
    actions = np.random.default_rng(2).integers(-5, 5000, 20)
    found = [native.step(np.array([action, action]))[1] for action in actions]
    assert [row[0] for row in found] == rewards("penalty", actions.tolist(), replaced=False)


def test_invalid__another_word__refused() -> None:
    with pytest.raises(SsdgymError, match="invalid must be error or replace or penalty"):
        gymnasium.make(ENVIRONMENT, **SMALL, invalid="ignore")


@pytest.mark.parametrize("vector", [False, True])
def test_reset__plays_the_workload_of_its_options_once(vector: bool) -> None:
    make = gymnasium.make_vec if vector else gymnasium.make
    how = {"num_envs": 1, "vectorization_mode": "vector_entry_point"} if vector else {}
    own, other = (make(ENVIRONMENT, workload=workload, **how, **SMALL) for workload in ("zipf99", "hot90"))

    def first(env: Any, **options: Any) -> Any:
        return env.reset(seed=5, options=options or None)[0]["context"].tolist()

    assert first(own, workload="hot90") == first(other) != first(own)
    named = own.reset(options={"workload": "hot90"})[1], own.reset()[1]
    assert [(*np.ravel(info["workload"]), *np.ravel(info["device"])) for info in named] == [
        ("hot90", "tiny"),
        ("zipf99", "tiny"),
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"device": "demo"}, r"reset cannot change the device.* give make_vec a list, device=\["),
        ({"works": "hot90"}, "reset has no option 'works'; it has workload"),
        ({"workload": "nothing"}, "nothing"),
    ],
)
def test_reset__other_options__refused(options: dict[str, Any], reason: str) -> None:
    env = gymnasium.make(ENVIRONMENT, **SMALL)
    with pytest.raises(SsdgymError, match=reason):
        env.reset(options=options)
