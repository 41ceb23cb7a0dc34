"""Credit for each decision of `SubpageRegion-v0`, against a search through the whole history of decisions."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from ssdgym.envs import SubpageRegionEnv, SubpageRegionVectorEnv
from ssdgym.envs.rewards.credit import Credit
from ssdgym.errors import SsdgymError
from tests.envs import cases
from tests.envs.vector.compare import assert_same
from tests.simulator.test_subpage import tiny

PRICE = 0.5
options = partial(
    cases.options,
    "SubpageRegion",
    workload="zipf99",
    horizon=3000,
    features=["way_number", "way_time", "sector_updated", "asks_collected"],
    credit={"kind": "sector", "price": PRICE},
)


class Taken(NamedTuple):
    """A decision in the history of an episode."""

    sectors: set[int]
    collected: bool
    action: int
    group: set[int]
    time: float


def subject_of(env: SubpageRegionEnv) -> tuple[set[int], bool, set[int]]:
    """Return the sectors that the present decision is about, whether it is about a collection, its group."""
    state = env.episodes.state
    lpn, slots = int(state.control[0, 0]["decision_subject"]), int(state.subpage[0, 0]["slots"])
    group = {lpn - lpn % slots + k for k in range(slots)}
    if state.buffer[0, 0]["collected_plane"] >= 0:
        return {lpn}, True, group
    return {s for s in group if int(state.buffer[0, 0]["leaving"]) >> s % slots & 1}, False, group


def credit_of(number: int, history: list[Taken]) -> tuple[int, Credit] | None:
    """Return when the cost of a decision is known, and the credit; None if it is not yet known."""
    taken = history[number]
    if taken.action == 0:
        return number, Credit(number, taken.time + PRICE, -1)
    left = set(taken.sectors)
    for later in range(number + 1, len(history)):
        other = history[later]
        if other.collected and other.sectors <= left:
            return later, Credit(number, taken.time, later)
        left -= other.sectors
        if other.action == 0:
            left -= other.group
        if not left:
            return later, Credit(number, taken.time, -1)
    return None


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("decides", ["flushes", "collected", "both"])
def test_credits__of_random_decisions__are_those_of_the_history(timing: str, decides: str) -> None:
    env = SubpageRegionEnv(**options(device=tiny(timing=timing), decides=decides))
    observation, info = env.reset(seed=3)
    rng, history, found, over = np.random.default_rng(0), [], [], False
    while not over:
        assert info["decision"] == len(history)
        action = int(rng.random() < 0.8)
        sectors, collected, group = subject_of(env)
        history.append(Taken(sectors, collected, action, group, float(observation["candidates"][action, 1])))
        observation, _, _, over, info = env.step(action)
        found += [(len(history) - 1, credit) for credit in info["credits"]]
    expected = [known for number in range(len(history)) if (known := credit_of(number, history))]
    assert sorted(found) == sorted(expected) and len(found) > 50
    kinds = {(history[credit.decision].collected, credit.following >= 0) for _, credit in found}
    wanted = {"flushes": {(False, False)}, "collected": {(True, False), (True, True)}}
    assert kinds >= wanted.get(decides, {(False, False), (False, True), (True, False)})


def test_device_and_observations__with_credit_and_without__the_same() -> None:
    envs = [SubpageRegionEnv(**options(**change)) for change in ({}, {"credit": None})]
    rng, over = np.random.default_rng(0), False
    found = [env.reset(seed=1) for env in envs]
    while not over:
        for _, info in found[:1]:
            del info["decision"], info["credits"]
        assert_same(*found)
        action = int(rng.integers(2))
        steps = [env.step(action) for env in envs]
        over, found = steps[0][3], [(step[:4], step[4]) for step in steps]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_vector__of_two_devices__what_gymnasium_makes_of_single_ones(mode: str) -> None:
    ours = SubpageRegionVectorEnv(2, **options(horizon=300), autoreset_mode=mode)
    singles = [lambda: SubpageRegionEnv(**options(horizon=300)) for _ in range(2)]
    theirs = SyncVectorEnv(singles, autoreset_mode=ours.autoreset_mode)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    rng, rows = np.random.default_rng(0), 0
    for _ in range(600):
        actions = rng.integers(2, size=2)
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other)
        rows += sum(map(len, one[-1]["credits"]))
    assert rows > 100


def test_pickled__in_the_middle_of_an_episode__goes_on_with_the_same_credits() -> None:
    env = SubpageRegionEnv(**options())
    env.reset(seed=1)
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        env.step(rng.integers(2))
    other = pickle.loads(pickle.dumps(env))
    for _ in range(200):
        action = rng.integers(2)
        infos = [each.step(action)[-1] for each in (env, other)]
        assert_same(*infos)
        found += infos[0]["credits"]
    assert len(found) > 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"credit": {"kind": "page", "price": 1}}, 'must be None or {"kind": "sector", "price": 10.0}, not'),
        ({"features": ["way_number"]}, "credit needs the feature way_time; add it to features, or leave"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        SubpageRegionEnv(**options(**changes))


def test_decision_arguments__without_credit__which_is_for_training() -> None:
    assert "credit" not in SubpageRegionEnv.options_type.decision_arguments()
